import { expect } from 'chai'
import { createJarBrowser, type JarBrowser, type Visited } from './browser-jar.ts'
import { type Answer, AS_ADMIN, type GatewayOptions, type RunningGateway, startGateway } from './gateway.ts'
import { type ScriptedOidc, startScriptedOidc } from './scripted-oidc.ts'
import { UNLIMITED, withSettings } from './settings.ts'

export const CLIENT_SECRET = 'a-client-secret-canary'

const ROLES = 'map: { gateway-admins: admin, gateway-editors: editor, everybody: auditor }'

/** A gateway whose console is signed in to at an issuer, with further fields of the setting. */
export async function startSigningIn(
  issuer: string,
  more = '',
  { limit = null, ...options }: GatewayOptions & { readonly limit?: number | null } = {},
): Promise<RunningGateway> {
  const settings = await withSettings(`${UNLIMITED}limits: { auth_failures_per_minute: ${limit} }
identity:
  console: { issuer: '${issuer}', client_id: signalbox, roles: { claim: groups, ${ROLES} }${more} }\n`)
  return startGateway({ ...settings, OIDC_CLIENT_SECRET: CLIENT_SECRET, LOG_LEVEL: 'trace' }, options)
}

/** The pages that browsers of tests do not open. */
export const isPage = (url: string) => /\/console\/(#.*)?$/.test(url)

/** A gateway, and the identity provider that its console is signed in to at. */
export interface SignInSuite {
  readonly provider: ScriptedOidc
  readonly gateway: RunningGateway
  asAdmin(method: string, path: string, body?: unknown): Promise<Answer>
  asBrowser(browser: JarBrowser, method: string, path: string): Promise<Answer>
  /** Goes to the provider and back, up to a page of the console. */
  login(browser?: JarBrowser, query?: string): Promise<Visited>
  /** Signs in as a person with these groups. */
  signIn(sub: string, groups: readonly string[]): Promise<JarBrowser>
  // biome-ignore lint/suspicious/noExplicitAny: assertions read fields of any answer
  findOperator(subject: string): Promise<any>
}

/** Starts and stops what the tests of a suite need. The fields of the result are there in its tests. */
export function useSignIn(): SignInSuite {
  let gateway: RunningGateway
  let provider: ScriptedOidc
  before(async () => {
    provider = await startScriptedOidc()
    gateway = await startSigningIn(provider.issuer)
    Object.assign(suite, { provider, gateway })
  })
  after(async () => {
    await gateway.stop()
    await provider.stop()
  })

  const login: SignInSuite['login'] = (browser = createJarBrowser(), query = '') =>
    browser.open(`${gateway.url}/console/login${query}`, isPage)
  const asAdmin: SignInSuite['asAdmin'] = (method, path, body) => gateway.call(method, path, body, AS_ADMIN)

  const suite = {
    login,
    asAdmin,
    asBrowser: (browser, method, path) =>
      gateway.call(method, path, undefined, { authorization: '', cookie: browser.cookies(gateway.url) }),
    async signIn(sub, groups) {
      provider.person = { sub, email: `${sub}@example.com`, groups }
      const browser = createJarBrowser()
      const { next, text } = await login(browser)
      expect(next, text).to.equal(`${gateway.url}/console/`)
      return browser
    },
    async findOperator(subject) {
      const { body } = await asAdmin('GET', '/admin/operators')
      return body.data.find(
        ({ external }: { external?: { subject: string } }) => external?.subject === subject,
      )
    },
  } as SignInSuite
  return suite
}
