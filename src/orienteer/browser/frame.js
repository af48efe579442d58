// Wait until the page was drawn once more.
() => new Promise((done) => { requestAnimationFrame(() => done()); })
