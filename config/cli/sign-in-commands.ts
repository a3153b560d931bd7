import { setTimeout } from 'node:timers/promises'
import { GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { postForm, readToken, readUserInfo, toStoredSignIn } from './oauth-client.ts'
import { remoteUrl } from './remote-gateway.ts'
import { openStoredSignIns } from './stored-sign-ins.ts'

const CLIENT_ID = 'signalbox-cli'

/** Asks the gateway for a code, waits until somebody has approved it, and keeps the token. */
export async function logIn(args: CommandArgs): Promise<void> {
  const url = requireUrl(args)
  const stored = openStoredSignIns(args.environment)
  const started = await postForm(url, '/oauth/device_authorization', { client_id: CLIENT_ID })
  const { device_code, user_code, verification_uri_complete, interval } = started
  if (typeof device_code !== 'string' || typeof user_code !== 'string')
    throw new Error(`${url} does not let programs sign in: ${String(started.error)}.`)
  args.print(`Open ${String(verification_uri_complete)}`)
  args.print(`and continue if it shows the code ${user_code}`)
  const answer = await waitForTokens(url, device_code, typeof interval === 'number' ? interval : 5)
  stored.put(url, toStoredSignIn(answer))
  args.print(await describeSignIn(url, String(answer.access_token)))
}

/** Ends the sign-in at the gateway, and forgets it. */
export async function logOut(args: CommandArgs): Promise<void> {
  const url = requireUrl(args)
  const stored = openStoredSignIns(args.environment)
  const signIn = stored.find(url)
  if (signIn === undefined) return args.print(`You are not signed in to ${url}.`)
  stored.put(url, undefined)
  const token = signIn.refresh_token ?? signIn.access_token
  const { error } = await postForm(url, '/oauth/revoke', { token }).catch((reason: unknown) => ({
    error: errorMessage(reason),
  }))
  if (error !== undefined) throw new Error(`The token was deleted here, but not revoked: ${String(error)}`)
  args.print(`Signed out of ${url}.`)
}

/** Prints who is signed in, and until when. */
export async function whoAmI(args: CommandArgs): Promise<void> {
  const url = requireUrl(args)
  const token = await readToken(openStoredSignIns(args.environment), url)
  if (token === undefined) throw notSignedIn(url)
  args.print(await describeSignIn(url, token))
}

/** A token must not travel in the clear, except on this machine. */
function requireUrl(args: CommandArgs): string {
  const url = remoteUrl(args)
  if (url === undefined || !URL.canParse(url))
    throw new UsageError('The address of a gateway is required: --url URL, or SIGNALBOX_URL.')
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)) return url
  throw new UsageError('URL must begin with https://. Plain HTTP is for this machine only.')
}

async function waitForTokens(url: string, device_code: string, seconds: number): Promise<JsonObject> {
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  for (let interval = seconds; ; ) {
    await setTimeout(interval * 1000)
    const answer = await postForm(url, '/oauth/token', { grant_type, device_code })
    if (answer.error === undefined) return answer
    if (answer.error === 'slow_down') interval += 5
    else if (answer.error === 'access_denied') throw new Error('The sign-in was denied.')
    else if (answer.error === 'expired_token') throw new Error('Nobody approved the code in time. Try again.')
    else if (answer.error !== 'authorization_pending' && answer.error !== 'temporarily_unavailable')
      throw new Error(`The sign-in failed: ${String(answer.error)}.`)
  }
}

async function describeSignIn(url: string, token: string): Promise<string> {
  const { error, type, sub: id, name, role, expires_at } = await readUserInfo(url, token)
  if (error !== undefined) throw notSignedIn(url)
  return JSON.stringify({ url, type, id, name, role, expires_at })
}

function notSignedIn(url: string): GatewayError {
  const message = `You are not signed in to ${url}. Run "signalbox login --url ${url}".`
  return new GatewayError('invalid_api_key', message)
}
