"use strict";
// A chart beside its video: the cursor follows the video, and the video follows a finger on the chart.
for (const card of document.querySelectorAll(".timed")) {
  const video = card.querySelector("video"), chart = card.querySelector("svg"), cursor = chart.querySelector(".cursor");
  const { left, right, frames, rate } = Object.fromEntries(Object.entries(chart.dataset).map(([k, v]) => [k, Number(v)]));
  const last = Math.max(1, frames - 1);
  const place = () => {
    const x = left + (right - left) * Math.min(1, (video.currentTime * rate) / last);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
  };
  const follow = () => {
    place();
    if (!video.paused && !video.ended) requestAnimationFrame(follow);
  };
  const seek = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    video.currentTime = (Math.min(1, Math.max(0, (x - left) / (right - left))) * last) / rate;
  };
  video.addEventListener("play", follow);
  for (const name of ["timeupdate", "seeking", "loadedmetadata"]) video.addEventListener(name, place);
  for (const name of ["pointerdown", "pointermove"]) chart.addEventListener(name, seek);
}
// Videos side by side: the others do what the first one does.
for (const group of document.querySelectorAll(".together")) {
  const [first, ...others] = group.querySelectorAll("video");
  const align = () => others.forEach((video) => (video.currentTime = first.currentTime));
  first.addEventListener("play", () => { align(); others.forEach((video) => video.play()); });
  first.addEventListener("pause", () => { others.forEach((video) => video.pause()); align(); });
  first.addEventListener("seeking", align);
}
