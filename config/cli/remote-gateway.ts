import { readFileSync } from 'node:fs'
import { GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { authorOf } from './command-state.ts'
import { readToken, rejectUnreachable } from './oauth-client.ts'
import { openStoredSignIns } from './stored-sign-ins.ts'

/** A running gateway that a command calls as an operator. */
export interface RemoteGateway {
  /** Sends a POST request if there is a body. Rejects with the gateway's error. */
  call<Result>(path: string, body?: JsonObject): Promise<Result>
  /** Reads all pages of a list. The path has a query. */
  list<Item>(path: string): Promise<readonly Item[]>
}

/** The address that `--url` or SIGNALBOX_URL names; undefined if the command works on the settings. */
export function remoteUrl({ options, environment }: CommandArgs): string | undefined {
  return options.get('url') ?? (environment.SIGNALBOX_URL || undefined)
}

export function createRemoteGateway(url: string, args: CommandArgs): RemoteGateway {
  const stored = openStoredSignIns(args.environment)
  const given = readKey(args)
  if (given === undefined && stored.find(url) === undefined) throw noKeyError(url)
  const { reason } = authorOf(args)
  // Node encodes headers as Latin-1; the gateway reads the bytes as UTF-8.
  const header = reason && { 'x-change-reason': Buffer.from(reason, 'utf8').toString('latin1') }
  const base = url.replace(/\/+$/, '')

  async function send<Result>(path: string, body?: JsonObject): Promise<Answered<Result>> {
    const key = given ?? (await readToken(stored, url))
    if (key === undefined) throw new Error(`The sign-in to ${url} has ended. ${logInAdvice(url)}`)
    const response = await fetch(base + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...header },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => rejectUnreachable(new URL(base).origin, error))
    const answer = (await response.json().catch(() => ({}))) as Answer<Result>
    if (response.ok && answer.data !== undefined) return { ...answer, data: answer.data }
    const { message = `${new URL(base).origin} answered with ${response.status}.`, errors } =
      answer.error ?? {}
    const code = response.headers.get('x-error-code') ?? 'internal_error'
    throw new GatewayError({ code, status: response.status, message, ...(errors && { errors }) })
  }

  return {
    call: async <Result>(path: string, body?: JsonObject) => (await send<Result>(path, body)).data,
    async list<Item>(path: string) {
      const items: Item[] = []
      let cursor: string | null | undefined = ''
      while (typeof cursor === 'string') {
        const more: string = cursor && `&cursor=${cursor}`
        const page: Answered<readonly Item[]> = await send(path + more)
        items.push(...page.data)
        cursor = page.next_cursor
      }
      return items
    },
  }
}

type Answered<Result> = Answer<Result> & { readonly data: Result }

interface Answer<Result> {
  readonly data?: Result
  readonly next_cursor?: string | null
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
