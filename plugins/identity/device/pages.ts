import { createHash } from 'node:crypto'
import type { EndpointResponse } from '../../../core/contract/index.ts'
import type { GrantClient } from '../../../projections/events/grants.ts'
import { type DeviceCode, formatUserCode } from './device-codes.ts'

const STYLE = `
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #f6f7f9;
  color: #1c2430; font: 16px/1.5 system-ui, sans-serif }
main { box-sizing: border-box; width: min(28rem, 100vw); padding: 2rem; background: #fff;
  border: 1px solid #d9dee6; border-radius: 8px }
h1 { margin: 0 0 1rem; font-size: 1.25rem }
.code { margin: 1rem 0; font: 700 1.75rem/1 ui-monospace, monospace; text-align: center }
label, input { display: block; box-sizing: border-box; width: 100% }
input { margin: .25rem 0 1rem; padding: .5rem; font: inherit; border: 1px solid #8a94a3;
  border-radius: 4px }
button { padding: .5rem 1rem; font: inherit; border: 1px solid #1f5fbf; border-radius: 4px;
  background: #1f5fbf; color: #fff; cursor: pointer }
button.plain { background: #fff; color: #1f5fbf }
form { margin: 1rem 0 0 }
[role=alert] { padding: .5rem .75rem; background: #fdecea; border-left: 4px solid #b3261e }
@media (prefers-color-scheme: dark) {
  body { background: #14181f; color: #e6e9ee } main { background: #1c222c; border-color: #384252 }
  input { background: #14181f; color: inherit } button.plain { background: #1c222c; color: #8ab4f8 }
  [role=alert] { background: #3a1d1b }
}`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** Nothing but the style above. The form leads on to the identity provider, which is another site. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "form-action 'self' https: http://localhost:* http://127.0.0.1:*",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** What the person of a page sees of a program. */
export const CLIENT_NAMES: Readonly<Record<GrantClient, string>> = {
  claude_code: 'Claude Code',
  cli: 'The signalbox command line',
}

export interface ConfirmPage {
  readonly code: DeviceCode
  readonly csrf: string
  /** Who is signed in to the console, if they may approve. */
  readonly session: string | undefined
  readonly allowsKeys: boolean
  readonly hasProvider: boolean
  readonly problem?: string
}

/** Asks for the code. */
export function codePage(problem?: string): EndpointResponse {
  return page(
    'Sign in a program',
    `${alertOf(problem)}<form method="get" action="device">
<label for="code">The code that the program shows</label>
<input id="code" name="user_code" maxlength="12" autocomplete="off" required autofocus>
<button>Continue</button></form>`,
    problem === undefined ? 200 : 400,
  )
}

/** Shows what is about to be signed in, and asks who allows it. */
export function confirmPage(options: ConfirmPage): EndpointResponse {
  const { code, csrf, session, allowsKeys, hasProvider, problem } = options
  const hidden = hiddenInput('user_code', code.userCode) + hiddenInput('csrf_token', csrf)
  const form = (content: string) => `<form method="post" action="device">${hidden}${content}</form>`
  const keyTitle = code.client === 'cli' ? 'Key of an operator' : 'API key'
  const keyForm = `<label for="key">${keyTitle}</label>
<input id="key" name="key" type="password" autocomplete="off" required>
${button('approve-with-key', 'Approve with this key', session !== undefined || hasProvider)}`
  const ways = [
    ...(session === undefined ? [] : [button('approve', `Approve as ${session}`)]),
    ...(hasProvider ? [button('sign-in', 'Sign in with your company account')] : []),
    ...(allowsKeys ? [keyForm] : []),
    button('deny', 'Deny', true),
  ]
  const body = `${alertOf(problem)}<p><strong>${CLIENT_NAMES[code.client]}</strong> at the address
${escapeHtml(code.address)} wants to act in your name. Continue only if you have just started it, and it
shows this code:</p>
<p class="code">${formatUserCode(code.userCode)}</p>
${ways.map(form).join('\n')}`
  return page('Approve a sign-in', body, problem === undefined ? 200 : 400)
}

function button(action: string, text: string, isPlain = false): string {
  const style = isPlain ? ' class="plain"' : ''
  return `<button name="action" value="${action}"${style}>${escapeHtml(text)}</button>`
}

function hiddenInput(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`
}

/** Says what has become of it. */
export function resultPage(title: string, text: string, status = 200): EndpointResponse {
  return page(title, `<p>${escapeHtml(text)}</p>`, status)
}

function page(title: string, content: string, status: number): EndpointResponse {
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Signalbox</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>
${content}
</main></body></html>
`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cross-origin-opener-policy': 'same-origin',
  }
  return { status, headers, body }
}

const alertOf = (problem: string | undefined) =>
  problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
