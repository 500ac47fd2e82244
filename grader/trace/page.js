"use strict";
{
  const { bodies, steps } = JSON.parse(document.getElementById("frames").textContent);
  const slider = document.getElementById("step");
  const told = document.getElementById("told");
  const play = document.getElementById("play");
  const access = document.getElementById("access");
  const here = document.getElementById("here");
  const fields = [...document.querySelectorAll("g.cells")];
  const lines = new Map([...document.querySelectorAll("li[data-line]")].map((line) => [+line.dataset.line, line]));
  let at = 0, timer = 0, current;

  function show(next) {
    at = Math.max(0, Math.min(steps.length - 1, next));
    const step = steps[at];
    slider.value = at + 1;
    slider.setAttribute("aria-valuetext", step.says);
    told.innerHTML = step.told;
    access.setAttribute("viewBox", step.view);
    access.innerHTML = step.access.map((part) => bodies[part]).join("");
    fields.forEach((field, number) => {
      const before = steps.slice(step.begun, at).map((past) => bodies[past.fields[number]]);
      field.innerHTML = `<g class="past">${before.join("")}</g>${bodies[step.fields[number]]}`;
    });
    here.setAttribute("x", at);
    current?.classList.remove("now");
    current = lines.get(step.line);
    current?.classList.add("now");
    const list = current?.parentElement;
    if (list && (current.offsetTop < list.scrollTop + list.offsetTop
        || current.offsetTop + current.offsetHeight > list.scrollTop + list.offsetTop + list.clientHeight))
      list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
  }

  function run(on) {
    clearInterval(timer);
    timer = 0;
    if (on) {
      if (at === steps.length - 1) show(0);
      timer = setInterval(() => (at === steps.length - 1 ? run(false) : show(at + 1)), 700);
    }
    play.textContent = on ? "❚❚" : "▶";
    play.setAttribute("aria-pressed", on);
  }

  function go(next) {
    run(false);
    show(next);
  }

  function nextOn(line) {
    const later = steps.findIndex((step, number) => number > at && step.line === line);
    go(later >= 0 ? later : steps.findIndex((step) => step.line === line));
  }

  slider.addEventListener("input", () => go(slider.value - 1));
  document.getElementById("back").addEventListener("click", () => go(at - 1));
  document.getElementById("on").addEventListener("click", () => go(at + 1));
  play.addEventListener("click", () => run(!timer));
  for (const [number, line] of lines)
    if (line.classList.contains("asks")) line.addEventListener("click", () => nextOn(number));
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const onButton = event.target.tagName === "BUTTON";
    if (event.key === "Enter" && event.target.classList.contains("asks")) nextOn(+event.target.dataset.line);
    else if (event.key === " " && !onButton) run(!timer);
    else if (event.key === "ArrowRight") go(at + 1);
    else if (event.key === "ArrowLeft") go(at - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(steps.length - 1);
    else return;
    event.preventDefault();
  });
  const first = +slider.dataset.first;
  show(first);
}
