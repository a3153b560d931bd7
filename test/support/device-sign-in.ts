import type { Answer, RunningGateway } from './gateway.ts'

export interface StartedDevice {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri_complete: string
  readonly expires_in: number
  readonly interval: number
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly expires_in: number
  readonly error?: string
}

/** A JSON body, or the text of a page. */
export interface FormAnswer extends Answer {
  readonly text: string
}

/** A form as programs and browsers send it, and the JSON or page that comes back. */
export async function postForm(
  { url }: Pick<RunningGateway, 'url'>,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<FormAnswer> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
    redirect: 'manual',
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} }
}

/** Begins a sign-in: of Claude Code, which sends nothing, or of `signalbox login`. */
export async function startDevice(gateway: RunningGateway, client?: string): Promise<StartedDevice> {
  const form = client === undefined ? {} : { client_id: client }
  return (await postForm(gateway, '/oauth/device_authorization', form)).body
}

export interface OpenedPage {
  readonly status: number
  readonly headers: Answer['headers']
  readonly html: string
  readonly csrf: string
  readonly cookie: string
}

/** A browser on the page that approves a code. */
export async function openPage(
  { url }: Pick<RunningGateway, 'url'>,
  code: string,
  cookie = '',
): Promise<OpenedPage> {
  const response = await fetch(`${url}/console/device?user_code=${code}`, { headers: { cookie } })
  const html = await response.text()
  const own = response.headers.get('set-cookie')?.split(';')[0]
  return {
    status: response.status,
    headers: response.headers,
    html,
    csrf: /name="csrf_token" value="([^"]+)"/.exec(html)?.[1] ?? '',
    cookie: [cookie, own].filter(Boolean).join('; '),
  }
}

/** Approves a code as a person does, with a key or with a session in a cookie. */
export async function approveDevice(
  gateway: RunningGateway,
  code: string,
  by: { readonly key?: string; readonly cookie?: string },
): Promise<FormAnswer> {
  const page = await openPage(gateway, code, by.cookie)
  const fields = {
    user_code: code,
    csrf_token: page.csrf,
    action: by.key === undefined ? 'approve' : 'approve-with-key',
    ...(by.key !== undefined && { key: by.key }),
  }
  return postForm(gateway, '/console/device', fields, {
    cookie: page.cookie,
    'sec-fetch-site': 'same-origin',
  })
}

export function pollDevice(
  gateway: RunningGateway,
  device_code: string,
  more: Record<string, string> = {},
): Promise<FormAnswer> {
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  return postForm(gateway, '/oauth/token', { grant_type, device_code, ...more })
}

export function refreshTokens(gateway: RunningGateway, refresh_token: string): Promise<FormAnswer> {
  return postForm(gateway, '/oauth/token', { grant_type: 'refresh_token', refresh_token })
}

/** The tokens of a program that the holder of a key has signed in. */
export async function signInDevice(gateway: RunningGateway, key: string, client?: string): Promise<Tokens> {
  const started = await startDevice(gateway, client)
  await approveDevice(gateway, started.user_code, { key })
  return (await pollDevice(gateway, started.device_code)).body
}

/** Approves a code as somebody who is signed in at the identity provider. Returns the last page. */
export async function approveAtProvider(gateway: RunningGateway, code: string): Promise<FormAnswer> {
  const page = await openPage(gateway, code)
  const fields = { user_code: code, csrf_token: page.csrf, action: 'sign-in' }
  const begun = await postForm(gateway, '/console/device', fields, { cookie: page.cookie })
  const location = begun.headers.get('location')
  if (location === null) return begun
  const back = await fetch(location, { redirect: 'manual' })
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const answer = await fetch(back.headers.get('location') ?? '', { headers: { cookie }, redirect: 'manual' })
  return { status: answer.status, headers: answer.headers, text: await answer.text(), body: {} }
}
