import type { EndpointResponse } from '../../../core/contract/index.ts'
import type { GrantClient } from '../../../projections/events/grants.ts'
import { escapeHtml, htmlPage } from '../html-page.ts'
import { type DeviceCode, formatUserCode } from './device-codes.ts'

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
  return htmlPage(
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
  return htmlPage('Approve a sign-in', body, problem === undefined ? 200 : 400)
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
  return htmlPage(title, `<p>${escapeHtml(text)}</p>`, status)
}

const alertOf = (problem: string | undefined) =>
  problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`
