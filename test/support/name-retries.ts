const failed = new Set<string>()

/** Root hooks of mocha for runs with `--retries`: they name the tests that passed only when repeated. */
export const mochaHooks = {
  afterEach(this: Mocha.Context) {
    const test = this.currentTest
    if (test === undefined) return
    const title = test.fullTitle()
    if (!test.isPassed()) failed.add(title)
    else if (failed.delete(title)) process.stderr.write(`      passed only when repeated: ${title}\n`)
  },
}
