// Reports: one launch's findings and counters, and what shadow memory knows about a buffer, as JSON.
#include <cstdio>
#include <map>

#include "json.hpp"
#include "launch.hpp"

namespace simt {
namespace {

void triple(Json& json, std::string_view name, std::uint64_t linear, const Dim3& size) {
    json.key(name).open('[');
    json.value(linear % size.x).value(linear / size.x % size.y).value(linear / size.x / size.y).close(']');
}

void place(Json& json, const Program& program, std::string_view line, std::uint16_t site) {
    const std::uint32_t number = site < program.sites.size() ? program.sites[site].line : 0;
    if (number == 0)
        json.key(line).null();
    else
        json.field(line, number);
}

// The lines on which the code of a site was called; none for what stands in the kernel itself.
void callers(Json& json, const Program& program, std::string_view name, std::uint16_t site) {
    json.key(name).open('[');
    if (site < program.sites.size())
        for (const std::uint32_t line : program.sites[site].callers) json.value(line);
    json.close(']');
}

void finding_json(Json& json, const Launch& launch, const Finding& finding) {
    const Program& program = *launch.program;
    json.open('{').field("kind", fault_name(finding.fault));
    place(json, program, "line", finding.site);
    place(json, program, "other_line", finding.other_site);
    callers(json, program, "callers", finding.site);
    callers(json, program, "other_callers", finding.other_site);
    triple(json, "block", finding.block, launch.grid);
    triple(json, "thread", finding.thread, launch.block);
    json.field("space", finding.space).field("region", finding.region).field("region_bytes", finding.region_bytes);
    json.field("address", finding.address)
        .field("offset", finding.offset)
        .field("bytes", finding.bytes)
        .field("write", finding.write);
    json.field("other_write", finding.other_write).field("other_atomic", finding.other_atomic);
    if (finding.other_known) {
        triple(json, "other_block", finding.other_block, launch.grid);
        triple(json, "other_thread", finding.other_thread, launch.block);
    }
    if (finding.fault == Fault::data_race)
        json.field("between_blocks", finding.between_blocks)
            .field("between_warps", finding.between_warps)
            .field("one_place", finding.one_place);
    if (finding.fault == Fault::bad_sync_mask) json.field("mask", finding.mask).field("lanes", finding.lanes);
    if (finding.fault == Fault::deadlock) json.field("waiting", finding.waiting).field("wanted", finding.wanted);
    json.field("text", finding.text).field("count", finding.count).field("blocks", finding.blocks).close('}');
}

struct LineCount {
    std::uint64_t warp_instructions = 0, thread_instructions = 0;
    std::uint64_t matrix_instructions = 0, matrix_flops = 0;
};

// Multiplications and additions of one product of matrices, by the shape in its name; 0 for all other operations.
std::uint64_t matrix_flops(const std::string& name) {
    if (!name.starts_with("wmma.mma.") && !name.starts_with("mma.")) return 0;
    unsigned m = 0, n = 0, k = 0;
    std::sscanf(name.c_str() + name.find(".m") + (name.starts_with("wmma") ? 5 : 1), "m%un%uk%u", &m, &n, &k);
    return std::uint64_t{2} * m * n * k;
}

class CounterReport {
  public:
    CounterReport(const Launch& launch, const Worker& total) : launch_(launch), total_(total) {
        for (const Function& function : launch.program->functions)
            for (const Block& block : function.blocks) add(function, block);
    }

    void write(Json& json) const {
        std::uint64_t warps = 0, threads = 0, splits = 0;
        for (const auto& [line, count] : lines_) {
            warps += count.warp_instructions;
            threads += count.thread_instructions;
        }
        for (const BlockCount& count : total_.blocks) splits += count.splits;
        json.open('{').field("warp_instructions", warps).field("thread_instructions", threads);
        json.field("divergent_branches", splits).field("barriers", total_.barriers);
        json.key("lines").open('[');
        for (const auto& [line, count] : lines_)
            json.open('{')
                .field("line", line)
                .field("warp_instructions", count.warp_instructions)
                .field("thread_instructions", count.thread_instructions)
                .field("matrix_instructions", count.matrix_instructions)
                .field("matrix_flops", count.matrix_flops)
                .close('}');
        json.close(']').key("accesses").open('[');
        for (const Function& function : launch_.program->functions) {
            for (const Instruction& instruction : function.instructions) access(json, instruction);
            for (const Block& block : function.blocks)
                if (block.ending == Ending::collective) access(json, block.last);
        }
        json.close(']').close('}');
    }

  private:
    void add(const Function& function, const Block& block) {
        const BlockCount& count = total_.blocks[block.index];
        if (count.runs == 0) return;
        for (std::uint32_t i = 0; i < block.count; ++i) add(function.instructions[block.first + i], count);
        if (block.issued > block.count) add(block.last, count);
    }
    void add(const Instruction& instruction, const BlockCount& count) {
        const Program& program = *launch_.program;
        if (program.op_names[instruction.text].starts_with("track.")) return;  // ours, not the kernel's
        LineCount& line = lines_[instruction.site < program.sites.size() ? program.sites[instruction.site].line : 0];
        line.warp_instructions += count.runs;
        line.thread_instructions += count.lanes;
        const std::uint64_t flops = matrix_flops(program.op_names[instruction.text]);
        line.matrix_instructions += flops != 0 ? count.runs : 0;
        line.matrix_flops += flops * count.runs;
    }
    void access(Json& json, const Instruction& instruction) const {
        const AccessCount& count = total_.accesses[instruction.index];
        if (count.requests == 0) return;
        json.open('{');
        place(json, *launch_.program, "line", instruction.site);
        json.field("op", launch_.program->op_names[instruction.text])
            .field("requests", count.requests)
            .field("lanes", count.lanes);
        json.field("sectors", count.sectors).field("ideal_sectors", count.ideal_sectors);
        json.field("wavefronts", count.wavefronts).field("ideal_wavefronts", count.ideal_wavefronts);
        json.key("buffer");
        if (count.hint && !count.many_regions)
            json.value(count.hint->name);
        else
            json.null();
        compiled(json, instruction, count);
        json.close('}');
    }
    // The same for the machine instruction that ptxas made of it: none, a wider one, or just this.
    void compiled(Json& json, const Instruction& instruction, const AccessCount& count) const {
        const AccessCount& wide = total_.wide[instruction.index];
        const AccessCount& shown = instruction.compiled == 0 ? AccessCount{} : wide.requests > 0 ? wide : count;
        json.key("compiled_bytes");
        if (instruction.compiled == kUnknownWidth)
            json.null();
        else
            json.value(std::uint32_t{instruction.compiled});
        json.field("compiled_requests", shown.requests);
        json.field("compiled_sectors", shown.sectors).field("compiled_ideal_sectors", shown.ideal_sectors);
        json.field("compiled_wavefronts", shown.wavefronts).field("compiled_ideal_wavefronts", shown.ideal_wavefronts);
    }

    const Launch& launch_;
    const Worker& total_;
    std::map<std::uint32_t, LineCount> lines_;
};

const Region* named(const AddressSpace& memory, const std::string& name) {
    for (const auto& region : memory.all())
        if (region->name == name) return region.get();
    return nullptr;
}

bool element_written(const Region& region, std::uint64_t offset, std::uint64_t bytes) {
    const Page* page = region.shadow.page_if_made(offset);
    return page && page->all_valid(static_cast<std::uint32_t>(offset % kPageBytes), static_cast<std::uint32_t>(bytes));
}

}  // namespace

std::string launch_report(const Launch& launch, const Worker& total) {
    Json json;
    json.open('{').field("kernel", launch.function->name);
    json.key("grid").open('[').value(launch.grid.x).value(launch.grid.y).value(launch.grid.z).close(']');
    json.key("block").open('[').value(launch.block.x).value(launch.block.y).value(launch.block.z).close(']');
    json.key("findings").open('[');
    for (const auto& [key, finding] : total.findings.groups()) finding_json(json, launch, finding);
    std::string printed;
    for (const auto& [block, text] : total.printed) printed += text;
    json.close(']').field("printed", printed).key("counters");
    CounterReport(launch, total).write(json);
    return json.close('}').text();
}

std::string Device::report() {
    Json json;
    json.open('[');
    for (const std::string& one : reports_) json.raw(one);
    reports_.clear();
    return json.close(']').text();
}

// {"count": elements with a byte that nothing has written, "ranges": [[first, last], …] of the first of them}
std::string Device::unwritten(const std::string& buffer, std::uint64_t element_bytes) const {
    constexpr std::size_t most_ranges = 64;
    const Region* region = named(memory_, buffer);
    if (!region || element_bytes == 0 || kPageBytes % element_bytes != 0)
        throw ProgramError("no such buffer, or an element size that is no power of two: " + buffer);
    std::uint64_t count = 0, run = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (std::uint64_t element = 0; !region->shadow.initialised() && element < region->size / element_bytes;
         ++element) {
        if (const std::uint64_t offset = element * element_bytes;
            offset % kPageBytes == 0 && offset + kPageBytes <= region->size && !region->shadow.page_if_made(offset)) {
            const std::uint64_t last = element + kPageBytes / element_bytes - 1;  // a page that nobody has touched
            count += last - element + 1;
            if (run != 0 && !ranges.empty() && ranges.back().second + 1 == element)
                ranges.back().second = last;
            else if (ranges.size() < most_ranges)
                ranges.emplace_back(element, last);
            run = 1;
            element = last;
            continue;
        }
        if (element_written(*region, element * element_bytes, element_bytes)) {
            run = 0;
            continue;
        }
        count += 1;
        if (run++ > 0 && !ranges.empty() && ranges.back().second + 1 == element)
            ranges.back().second = element;
        else if (ranges.size() < most_ranges)
            ranges.emplace_back(element, element);
    }
    Json json;
    json.open('{').field("count", count).key("ranges").open('[');
    for (const auto& [first, last] : ranges) json.open('[').value(first).value(last).close(']');
    return json.close(']').close('}').text();
}

std::string Device::written(const std::string& buffer, std::uint64_t element_bytes, std::uint64_t most) const {
    const Region* region = named(memory_, buffer);
    if (!region || element_bytes == 0 || kPageBytes % element_bytes != 0)
        throw ProgramError("no such buffer, or an element size that is no power of two: " + buffer);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (std::uint64_t start = 0; start < region->size && ranges.size() <= most; start += kPageBytes) {
        const Page* page = region->shadow.page_if_made(start);
        const std::uint64_t end = std::min(region->size, start + kPageBytes);
        for (std::uint64_t at = start; page && at + element_bytes <= end; at += element_bytes) {
            if (page->writer[(at - start) >> page->shift] == 0) continue;
            const std::uint64_t element = at / element_bytes;
            if (!ranges.empty() && ranges.back().second + 1 == element)
                ranges.back().second = element;
            else
                ranges.emplace_back(element, element);
        }
    }
    ranges.resize(std::min<std::uint64_t>(ranges.size(), most));
    Json json;
    json.open('[');
    for (const auto& [first, last] : ranges) json.open('[').value(first).value(last).close(']');
    return json.close(']').text();
}

namespace {

std::string warp_trace_report(const Launch& launch) {
    static constexpr const char* names[] = {"load", "store", "atomic", "shuffle", "barrier"};
    const Program& program = *launch.program;
    Json json;
    json.open('[');
    for (const WarpEntry& entry : launch.warp_trace) {
        json.open('{');
        place(json, program, "line", entry.site);
        json.field("op", program.op_names[entry.text]).field("function", entry.function->name);
        json.field("instruction", entry.instruction).field("warp", entry.warp);
        json.field("kind", names[static_cast<int>(entry.asked)]).field("space", entry.space);
        json.field("region", entry.region).field("bytes", entry.bytes).key("compiled_bytes");
        if (entry.compiled == kUnknownWidth)
            json.null();
        else
            json.value(std::uint64_t{entry.compiled});
        json.key("cost").open('[').value(entry.cost.actual).value(entry.cost.ideal).close(']');
        json.key("compiled_cost").open('[').value(entry.compiled_cost.actual).value(entry.compiled_cost.ideal);
        json.close(']').field("lanes", entry.lanes).key("at").open('[');
        for (const std::int64_t at : entry.at) json.value(at);
        json.close(']').close('}');
    }
    return json.close(']').text();
}

}  // namespace

std::string trace_report(const Launch& launch) {
    if (launch.options.trace_thread == kWholeBlock) return warp_trace_report(launch);
    const Program& program = *launch.program;
    Json json;
    json.open('[');
    for (const TraceEntry& entry : launch.trace) {
        static constexpr char digits[] = "0123456789abcdef";
        std::string value;
        for (const std::byte byte : entry.value) {
            value += digits[static_cast<unsigned>(byte) >> 4];
            value += digits[static_cast<unsigned>(byte) & 15];
        }
        json.open('{');
        place(json, program, "line", entry.site);
        json.field("op", program.op_names[entry.text]).field("function", entry.function->name);
        json.field("space", entry.space).field("region", entry.region).field("offset", entry.offset);
        json.field("write", entry.write).field("value", value).close('}');
    }
    return json.close(']').text();
}

std::string Device::last_writer(std::uint64_t address) const {
    Json json;
    const Region* region = memory_.nearest(address);
    const Page* page =
        region && region->holds(address, 1) ? region->shadow.page_if_made(address - region->base) : nullptr;
    const std::size_t cell = page ? (address - region->base) % kPageBytes >> page->shift : 0;
    if (!page || page->writer[cell] == 0) return json.null().text();
    json.open('{');
    place(json, *program_, "line", page->writer_site[cell]);
    if (const Stamp stamp = stamps_[page->writer[cell] >> kCellShift]; stamp.reach == Reach::thread)
        json.field("block", stamp.block).field("thread", stamp.warp * kLanes + (page->writer[cell] & kCellLane));
    return json.close('}').text();
}

}  // namespace simt
