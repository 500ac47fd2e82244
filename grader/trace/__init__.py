"""Pictures of what one block asked of memory: recorded on the software GPU, drawn as SVG or as a page with a slider."""
