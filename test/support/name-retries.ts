import Mocha from 'mocha'

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

const { EVENT_TEST_RETRY } = Mocha.Runner.constants

/**
 * Prints why an attempt failed. Mocha prints the error of the last attempt only, which may follow from the
 * state that the first one left. Reporters of parallel runs do not get the event.
 */
const runner: { emit(event: string, ...values: readonly unknown[]): boolean } = Mocha.Runner.prototype
const { emit } = runner
runner.emit = function (event, ...values) {
  const [test, error] = values as [Mocha.Test, Error]
  if (event === EVENT_TEST_RETRY)
    process.stderr.write(`      failed and is repeated: ${test.fullTitle()}\n${error.stack}\n`)
  return emit.call(this, event, ...values)
}
