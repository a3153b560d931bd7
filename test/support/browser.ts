import { existsSync } from 'node:fs'
import path from 'node:path'
import axe, { type AxeResults } from 'axe-core'
import { expect } from 'chai'
import type { Context } from 'mocha'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { IS_FULL } from './rounds.ts'
import { skip } from './skip.ts'

/** The headless shell renders like Chromium with half of its processor time. */
const INSTALLED = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

const CHROMIUM = process.env.CHROMIUM ?? INSTALLED.find(existsSync)

/** A worker of mocha runs several files, which share a browser. It ends with the worker. */
const IS_SHARED = process.env.MOCHA_WORKER_ID !== undefined

let running: Browser | undefined

/** Returns Chromium, or skips the suite if it is not installed; fails instead if CI is set. */
export async function requireBrowser(context: Context): Promise<Browser> {
  if (CHROMIUM === undefined) {
    if (process.env.CI) throw new Error('Chromium is not installed, and is required in CI')
    return skip(context, 'Chromium is not installed')
  }
  if (!running?.isConnected()) running = await launch(CHROMIUM)
  return running
}

function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
}

/** Closes all windows, and the browser itself unless other files may use it. */
export async function releaseBrowser(): Promise<void> {
  for (const context of running?.contexts() ?? []) await context.close()
  if (!IS_SHARED) await running?.close()
}

/** A window of the console. Its errors, and violations of the content security policy, fail the test. */
export interface Window {
  readonly page: Page
  readonly context: BrowserContext
  /** Opens a page of the console, such as `/policies`, and waits until it has loaded. */
  open(address: string): Promise<void>
  /** Signs in with a key, in place of whoever was signed in. */
  signIn(key: string): Promise<void>
  /** Fails if axe finds a violation, of all of its rules or of these, on the page as it is. */
  checkAccessibility(what: string, rules?: readonly string[]): Promise<void>
  /** Saves a picture of the page in the folder that SCREENSHOTS names, if it is set. */
  shoot(name: string): Promise<void>
  /** What went wrong on the page so far. */
  readonly problems: readonly string[]
}

const VIEWPORT = { width: 1280, height: 800 }

const SCREENS = [
  { name: 'wide', width: 1440, height: 900, isDark: false },
  { name: 'wide-dark', width: 1440, height: 900, isDark: true },
  { name: 'phone', width: 390, height: 844, isDark: false },
  { name: 'phone-dark', width: 390, height: 844, isDark: true },
] as const

/** The quick form has each width and each color once. */
const CHECKED = IS_FULL || process.env.SCREENSHOTS ? SCREENS : [SCREENS[0], SCREENS[3]]

/** Checks the page as it is on wide and narrow screens, in light and dark colors, and takes pictures. */
export async function checkScreensOf(window: Window, name: string): Promise<void> {
  const { page } = window
  for (const screen of CHECKED) {
    await page.setViewportSize(screen)
    await page.emulateMedia({ colorScheme: screen.isDark ? 'dark' : 'light' })
    await window.checkAccessibility(`${name}, ${screen.name}`)
    await window.shoot(`${name}-${screen.name}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect(overflow, `${name}, ${screen.name}`).to.be.at.most(0)
  }
  await page.setViewportSize(VIEWPORT)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Opens an empty window that shows light colors. */
export async function openWindow(browser: Browser, url: string): Promise<Window> {
  const context = await browser.newContext({
    viewport: VIEWPORT,
    colorScheme: 'light',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    // The console of the browser names responses with an error status, which some tests expect.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text())
  })
  const folder = process.env.SCREENSHOTS
  // Scripts of the test run beside the page, so its policy does not stop them.
  const session = await context.newCDPSession(page)

  return {
    page,
    context,
    problems,
    async open(address) {
      await page.goto(`${url}/console/#${address}`)
      await page.locator('main h1').waitFor()
      await page.locator('.loading').first().waitFor({ state: 'detached' })
    },
    async signIn(key) {
      await context.clearCookies()
      await page.goto(`${url}/console/`)
      await page.getByLabel('Key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.locator('main').waitFor()
    },
    async checkAccessibility(what, rules) {
      // Only violations are described in full. That takes a fifth of axe's time less.
      const options = JSON.stringify({
        resultTypes: ['violations'],
        ...(rules && { runOnly: { type: 'rule', values: rules } }),
      })
      const evaluate = (expression: string) =>
        session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
      const { result: known } = await evaluate('typeof axe')
      if (known.value === 'undefined') await evaluate(axe.source)
      const { result } = await evaluate(`axe.run(${options}).then(JSON.stringify)`)
      const { violations, passes }: AxeResults = JSON.parse(result.value)
      expect(passes, what).not.to.deep.equal([])
      const places = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
      expect(places, what).to.deep.equal([])
    },
    async shoot(name) {
      if (folder) await page.screenshot({ path: path.join(folder, `${name}.png`) })
    },
  }
}
