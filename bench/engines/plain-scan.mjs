export const settings = "Float32Array, one loop in JavaScript: the yardstick";

export function open({ dimensions, total }) {
  return engine(new Float32Array(total * dimensions), 0, dimensions);
}

function engine(rows, count, dimensions) {
  return {
    add: (first, added) => {
      if ((first + added.length / dimensions) * dimensions > rows.length) {
        const longer = new Float32Array(rows.length * 1.25);
        longer.set(rows);
        rows = longer;
      }
      rows.set(added, first * dimensions);
      count = Math.max(count, first + added.length / dimensions);
    },
    search: (query, limit, step) => scan(rows, count, dimensions, query, limit, step),
    save: () => [{ bytes: rows.slice(0, count * dimensions) }],
    load: ([{ bytes: saved }]) => engine(saved.slice(), saved.length / dimensions, dimensions),
  };
}

function scan(rows, count, dimensions, query, limit, step) {
  const numbers = [];
  const similarities = [];
  for (let number = 0; number < count; number += step) {
    const start = number * dimensions;
    let similarity = 0;
    for (let at = 0; at < dimensions; at += 1) similarity += rows[start + at] * query[at];
    if (numbers.length === limit && similarity <= similarities[limit - 1]) continue;
    let place = numbers.length;
    while (place > 0 && similarities[place - 1] < similarity) place -= 1;
    numbers.splice(place, 0, number);
    similarities.splice(place, 0, similarity);
    if (numbers.length > limit) {
      numbers.pop();
      similarities.pop();
    }
  }
  return numbers;
}
