import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { openWindow, releaseBrowser, requireBrowser, type Window } from './browser.ts'
import { buildConsole } from './console.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from './gateway.ts'

/** A gateway, and a window of its console for each test, in which the ADMIN_KEY is signed in. */
export interface ConsoleSuite {
  readonly browser: Browser
  readonly gateway: RunningGateway
  readonly window: Window
}

/**
 * Starts and stops what the tests of a suite need. The fields of the result are there in its tests. Errors of
 * the page, and violations of its security policy, fail the test.
 */
export function useConsole(start: () => Promise<RunningGateway> = () => startGateway()): ConsoleSuite {
  const suite: { -readonly [Field in keyof ConsoleSuite]?: ConsoleSuite[Field] } = {}
  before(async function () {
    suite.browser = await requireBrowser(this)
    await buildConsole()
    suite.gateway = await start()
  })
  beforeEach(async () => {
    const { browser, gateway } = suite as ConsoleSuite
    suite.window = await openWindow(browser, gateway.url)
    await suite.window.signIn(ADMIN_KEY)
  })
  afterEach(async () => {
    expect(suite.window?.problems).to.deep.equal([])
    await suite.window?.context.close()
  })
  after(async () => {
    await releaseBrowser()
    await suite.gateway?.stop()
  })
  return suite as ConsoleSuite
}
