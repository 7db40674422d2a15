"use strict";
(() => {
  const table = document.getElementById("outputs");
  const search = document.getElementById("search");
  const body = table.tBodies[0];
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  const value = (row, column) => {
    const text = row.cells[column].textContent;
    const number = Number.parseFloat(text);
    return Number.isNaN(number) ? text : number;
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    let down = false;
    head.style.cursor = "pointer";
    head.title = "Sort";
    head.addEventListener("click", () => {
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      down = !down;
      body.append(...rows);
    });
  });
})();
