// Wait for the next animation frame.
() => new Promise((done) => { requestAnimationFrame(() => done()); })
