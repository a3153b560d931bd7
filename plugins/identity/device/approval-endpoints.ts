import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  endpoint,
  GatewayError,
  publicAccess,
  Type,
} from '../../../core/contract/index.ts'
import { formatCookie, readCookie } from '../../../core/http/cookies.ts'
import type { SecretFile } from '../../../core/secrets/secret-file.ts'
import { isEqualText } from '../../../core/util/equal-text.ts'
import type { GrantClient, GrantHolder } from '../../../projections/events/grants.ts'
import { type Access, idOfHolder, type SessionHolder } from '../../auth/index.ts'
import type { CompletedSignIn, SignIn } from '../sign-in.ts'
import type { DeviceCode, DeviceCodes } from './device-codes.ts'
import { formBody, parseForm } from './form.ts'
import { CLIENT_NAMES, codePage, confirmPage, resultPage } from './pages.ts'
import type { People } from './people.ts'
import type { SignIns } from './sign-ins.ts'

/** Where people sign in, if there is an identity provider. */
export interface ProviderSignIn {
  readonly signIn: Pick<SignIn, 'begin'>
  readonly people: People
}

interface ApprovalServices {
  readonly codes: DeviceCodes
  readonly signIns: SignIns
  readonly access: Pick<Access, 'authFailures' | 'sessions' | 'holders'>
  readonly secret: SecretFile
  readonly provider: ProviderSignIn | undefined
  /** Whether only the ADMIN_KEY is accepted. */
  readonly refusesKeys: boolean
  addressOf(request: IncomingMessage): string
  urlOf(headers: IncomingHttpHeaders): string
}

const COOKIE = 'signalbox_device'

const responses = { 200: { description: 'The page.', text: 'text/html' } }
const common = { path: '/console/device', access: publicAccess, tags: ['console'], isUnlisted: true } as const

type Form = ReadonlyMap<string, string>

interface Approval {
  readonly endpoints: readonly Endpoint[]
  /** Approves the code of a sign-in at the identity provider that was begun on the page. */
  complete(completed: CompletedSignIn, requestId: string): Promise<EndpointResponse>
}

/** Creates the page on which a person allows a program to sign in (docs/guides/login.md). */
export function createApproval(services: ApprovalServices): Approval {
  const { codes, signIns, access, secret, provider, refusesKeys, addressOf, urlOf } = services

  /** The token of a form: only a page that this browser has loaded from here has it. */
  function tokenOf(nonce: string, { userCode }: DeviceCode): string {
    const text = `device form\n${nonce}\n${userCode}`
    return createHmac('sha256', secret.readOrCreate()).update(text).digest('base64url')
  }

  function showConfirm(code: DeviceCode, headers: IncomingHttpHeaders, problem?: string): EndpointResponse {
    const known = readCookie(headers.cookie, COOKIE)
    const nonce = known ?? randomBytes(16).toString('base64url')
    const session = access.sessions.find(headers)
    const page = confirmPage({
      code,
      csrf: tokenOf(nonce, code),
      session: session && mayApprove(code.client, session.holder) ? nameOf(session.holder) : undefined,
      allowsKeys: !refusesKeys || code.client === 'cli',
      hasProvider: provider !== undefined,
      ...(problem !== undefined && { problem }),
    })
    if (known !== undefined) return page
    const isSecure = urlOf(headers).startsWith('https:')
    const cookie = {
      name: COOKIE,
      value: nonce,
      path: '/',
      maxAgeSeconds: 600,
      sameSite: 'Strict',
      isSecure,
    } as const
    return { ...page, headers: { ...page.headers, 'set-cookie': formatCookie(cookie) } }
  }

  async function findCode(typed: string, { req }: EndpointCall): Promise<DeviceCode | EndpointResponse> {
    const found = await codes.find(typed, addressOf(req))
    if (found === 'limited') return codePage('Too many attempts. Wait ten minutes and try again.')
    if (found === 'unknown')
      return codePage('That code is not known. It may have expired: start the program again.')
    return found
  }

  async function approve(code: DeviceCode, holder: GrantHolder, requestId: string, asked?: string) {
    const { client } = code
    const grantId = await signIns.approve(client, holder, requestId)
    const isFirst = await codes.decide(code, { outcome: 'approved', grantId, provider: asked })
    return isFirst ? donePage(client) : resultPage('Too late', 'Somebody has decided about this code.', 409)
  }

  async function approveWithKey(
    code: DeviceCode,
    key: string,
    call: EndpointCall,
  ): Promise<EndpointResponse> {
    const { authFailures, holders } = access
    const kind = code.client === 'cli' ? 'admin' : 'api'
    const limit = authFailures.limitErrorFor(kind, call.req)
    const holder = limit === undefined ? holders.ofKey(key.trim()) : undefined
    const isAccepted = holder !== undefined && (!refusesKeys || holder.type === 'root')
    if (limit !== undefined) return showConfirm(code, call.headers, limit.message)
    if (holder === undefined || !isAccepted) {
      const error = new GatewayError('invalid_api_key', 'This key is not valid here.')
      const { message } = await authFailures.recordFailure(kind, call.req, error)
      return showConfirm(code, call.headers, message)
    }
    if (!mayApprove(code.client, holder)) return showConfirm(code, call.headers, wrongKind(code.client))
    return approve(code, toGrantHolder(holder), call.requestId)
  }

  async function decide(code: DeviceCode, form: Form, call: EndpointCall): Promise<EndpointResponse> {
    const { headers, requestId } = call
    switch (form.get('action')) {
      case 'deny':
        await codes.decide(code, { outcome: 'denied' })
        return resultPage('Denied', `${CLIENT_NAMES[code.client]} was not signed in.`)
      case 'approve': {
        const holder = (await access.sessions.findConfirmed(headers, requestId))?.holder
        if (holder === undefined) return showConfirm(code, headers, 'Your session has ended.')
        if (!mayApprove(code.client, holder)) return showConfirm(code, headers, wrongKind(code.client))
        return approve(code, toGrantHolder(holder), requestId)
      }
      case 'approve-with-key':
        return approveWithKey(code, form.get('key') ?? '', call)
      case 'sign-in': {
        if (provider === undefined) return codePage('There is no identity provider.')
        const returnTo = `/console/device?user_code=${code.userCode}`
        const { url, setCookie } = await provider.signIn.begin('device', returnTo, headers)
        return { status: 303, headers: { location: url, 'set-cookie': setCookie } }
      }
      default:
        return codePage('The form is not complete. Enter the code again.')
    }
  }

  async function complete(completed: CompletedSignIn, requestId: string): Promise<EndpointResponse> {
    const code = await codes.pending(new URL(completed.returnTo).searchParams.get('user_code') ?? '')
    if (code === undefined || provider === undefined)
      return codePage('That code is not known. It may have expired: start the program again.')
    const { people } = provider
    try {
      const holder = await people.toHolder(code.client, completed, requestId)
      return await approve(code, holder, requestId, people.providerOf(completed))
    } catch (error) {
      if (!GatewayError.isInstance(error) || error.status >= 500) throw error
      await codes.decide(code, { outcome: 'denied' })
      return resultPage('Not signed in', error.message, error.status)
    }
  }

  const endpoints = [
    endpoint({
      ...common,
      method: 'GET',
      operationId: 'showDevice',
      summary: 'Returns the page that approves the sign-in of a program.',
      query: { user_code: Type.Optional(Type.String({ maxLength: 40 })) },
      responses,
      async handle(call) {
        const { user_code: typed } = call.query
        if (typed === undefined) return codePage()
        const found = await findCode(typed, call)
        return 'status' in found ? found : showConfirm(found, call.headers)
      },
    }),
    endpoint({
      ...common,
      method: 'POST',
      operationId: 'approveDevice',
      summary: 'Approves or denies the sign-in of a program.',
      rawBody: formBody,
      responses,
      async handle(call) {
        const { headers } = call
        const form = parseForm(call.body, headers['content-type'])
        if (form === undefined || isCrossSite(headers, urlOf(headers))) return blockedPage()
        const found = await findCode(form.get('user_code') ?? '', call)
        if ('status' in found) return found
        const nonce = readCookie(headers.cookie, COOKIE) ?? ''
        const isOwn = nonce !== '' && isEqualText(form.get('csrf_token') ?? '', tokenOf(nonce, found))
        return isOwn ? decide(found, form, call) : blockedPage()
      },
    }),
  ]
  return { endpoints, complete }
}

const donePage = (client: GrantClient) =>
  resultPage('Signed in', `${CLIENT_NAMES[client]} is signed in. You can close this page and return to it.`)

const blockedPage = () =>
  resultPage('Blocked', 'This request came from another site and was blocked. Enter the code again.', 403)

/** Browsers say where a form comes from in one of two headers. */
function isCrossSite({ 'sec-fetch-site': site, origin }: IncomingHttpHeaders, url: string): boolean {
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && origin !== new URL(url).origin
}

/**
 * Claude Code calls as a user, the command line as an operator. Somebody of the identity provider signs in
 * there again, so that it can be asked later.
 */
function mayApprove(client: GrantClient, holder: SessionHolder): boolean {
  if (holder.type === 'operator' && holder.operator.external !== undefined) return false
  return client === 'cli' ? holder.type !== 'user' : holder.type === 'user'
}

function wrongKind(client: GrantClient): string {
  return client === 'cli'
    ? 'The command line acts as an operator: use the key of an operator.'
    : 'Claude Code acts as a user: use the API key of a user.'
}

function nameOf(holder: SessionHolder): string {
  if (holder.type === 'root') return 'root'
  return holder.type === 'operator' ? holder.operator.name : holder.account.name
}

function toGrantHolder(holder: SessionHolder): GrantHolder {
  return { type: holder.type, id: idOfHolder(holder) }
}
