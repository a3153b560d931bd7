import { readFileSync } from 'node:fs'
import { GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { type AdminApi, type Answer, createAdminApi, type Method } from './admin-api.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { authorOf } from './command-state.ts'
import { readToken, rejectUnreachable } from './oauth-client.ts'
import { openStoredSignIns } from './stored-sign-ins.ts'

/** The address that `--url` or SIGNALBOX_URL names; undefined if the command works on the settings. */
export function remoteUrl({ options, environment }: CommandArgs): string | undefined {
  return options.get('url') ?? (environment.SIGNALBOX_URL || undefined)
}

/** Calls a running gateway as an operator. */
export function createRemoteGateway(url: string, args: CommandArgs): AdminApi {
  const stored = openStoredSignIns(args.environment)
  const given = readKey(args)
  if (given === undefined && stored.find(url) === undefined) throw noKeyError(url)
  const { reason } = authorOf(args)
  // Node encodes headers as Latin-1; the gateway reads the bytes as UTF-8.
  const header = reason && { 'x-change-reason': Buffer.from(reason, 'utf8').toString('latin1') }
  const base = url.replace(/\/+$/, '')
  return createAdminApi(async <Result>(method: Method, path: string, body?: JsonObject) => {
    const key = given ?? (await readToken(stored, url))
    if (key === undefined) throw new Error(`The sign-in to ${url} has ended. ${logInAdvice(url)}`)
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...header },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => rejectUnreachable(new URL(base).origin, error))
    const answer = (await response.json().catch(() => ({}))) as Partial<Answer<Result>> & Failure
    if (response.ok && (answer.data !== undefined || answer.success === true)) return answer as Answer<Result>
    const { message = `${new URL(base).origin} answered with ${response.status}.`, errors } =
      answer.error ?? {}
    const code = response.headers.get('x-error-code') ?? 'internal_error'
    throw new GatewayError({ code, status: response.status, message, ...(errors && { errors }) })
  })
}

interface Failure {
  /** In place of data, of something that was deleted. */
  readonly success?: boolean
  readonly error?: {
    readonly message?: string
    readonly errors?: Readonly<Record<string, readonly string[]>>
  }
}

/** Undefined: the token of `signalbox login` is meant. */
function readKey({ options, environment }: CommandArgs): string | undefined {
  const file = options.get('key-file')
  const key = file === undefined ? environment.SIGNALBOX_KEY : readFileSync(file, 'utf8')
  if (key?.trim()) return key.trim()
  if (file !== undefined) throw new UsageError(`${file} is empty: it must have the key of an operator.`)
  return undefined
}

const logInAdvice = (url: string) => `Run "signalbox login --url ${url}".`

function noKeyError(url: string): UsageError {
  const keys = 'or give the key of an operator: --key-file FILE, or SIGNALBOX_KEY'
  return new UsageError(`You are not signed in to ${url}. ${logInAdvice(url).slice(0, -1)}, ${keys}.`)
}
