// Each chart of a report as a file: a drawing as SVG with the colours that it has here, a canvas as PNG.
for (const chart of document.querySelectorAll('section svg[role=img], #chart > canvas')) {
  const section = chart.closest('section'), drawing = chart instanceof SVGElement, save = document.createElement('button');
  if (!section) continue;
  const title = section.querySelector('h2')?.textContent ?? 'chart';
  save.className = 'save';
  save.textContent = drawing ? 'Save SVG' : 'Save PNG';
  save.setAttribute('aria-label', `${save.textContent}: ${title}`);
  save.onclick = () => {
    const link = document.createElement('a');
    link.download = title.toLowerCase().replace(/[^a-z0-9]+/g, '-') + (drawing ? '.svg' : '.png');
    if (drawing) {
      const copy = /** @type {SVGElement} */ (chart.cloneNode(true)), style = document.createElementNS(chart.namespaceURI, 'style');
      style.textContent = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules].map(rule => rule.cssText)).filter(rule => /:root|svg|\.k/.test(rule)).join('\n');
      copy.prepend(style);
      link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], {type: 'image/svg+xml'}));
    } else {
      link.href = /** @type {HTMLCanvasElement} */ (chart).toDataURL('image/png');
    }
    link.click();
    if (drawing) setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  (section.querySelector('.tools') ?? section).append(save);
}
