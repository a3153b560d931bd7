import type { IncomingMessage } from 'node:http'
import { type Author, type Endpoint, GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { createBodyParser, createParamsParser, createQueryParser } from '../../core/http/parse-call.ts'
import { NO_CLIENT } from '../../core/pipeline/decide-again.ts'
import { openOwnLedger } from '../gateway/ledger.ts'
import { openOfflineGateway } from '../gateway/offline-gateway.ts'
import { BUILT_IN_NAMES } from '../settings/built-in-names.ts'
import { type AdminApi, type Answer, createAdminApi, type Method } from './admin-api.ts'
import type { CommandArgs } from './command.ts'
import { authorOf, withState } from './command-state.ts'
import { createRemoteGateway, remoteUrl } from './remote-gateway.ts'

/**
 * Calls the gateway that `--url` or SIGNALBOX_URL names. Without them, calls the same endpoints in this
 * process, on the event log of the settings, without anything that listens.
 */
export async function withAdminApi(args: CommandArgs, run: (api: AdminApi) => Promise<void>): Promise<void> {
  const url = remoteUrl(args)
  if (url !== undefined) return run(createRemoteGateway(url, args))
  const author = authorOf(args)
  await withState(args.environment, async (state, settings, logger) => {
    const ledger = openOwnLedger(settings, state.logId, logger)
    // A key can be revoked while a package cannot be loaded.
    const plugins = settings.plugins.filter(({ use }) => BUILT_IN_NAMES.includes(use))
    const gateway = await openOfflineGateway({ ...settings, plugins }, state, logger, process.cwd(), ledger)
    const endpoints = gateway.steps.flatMap(({ parts }) => parts.endpoints ?? [])
    try {
      await run(
        createAdminApi((method, path, body) => callEndpoint(endpoints, { method, path, body }, author)),
      )
    } finally {
      await gateway.close()
      await ledger.close()
    }
  })
}

interface Call {
  readonly method: Method
  /** With the query. */
  readonly path: string
  readonly body: JsonObject | undefined
}

/** Calls an endpoint for operators, which needs nothing of the connection. */
async function callEndpoint<Result>(
  endpoints: readonly Endpoint[],
  { method, path, body }: Call,
  author: Author,
): Promise<Answer<Result>> {
  const [pathname = '', query = ''] = path.split('?')
  for (const endpoint of endpoints) {
    if (endpoint.method !== method || endpoint.access.type !== 'operator') continue
    const texts = matchPath(endpoint.path, pathname)
    if (texts === undefined) continue
    const response = await endpoint.handle({
      params: createParamsParser(endpoint)(texts, pathname),
      query: createQueryParser(endpoint)(query),
      body: createBodyParser(endpoint)(body),
      account: undefined,
      author,
      scope: undefined,
      requestId: '',
      headers: {},
      client: NO_CLIENT,
      req: NO_REQUEST,
    })
    // The cast is safe: the endpoints that commands call answer with JSON.
    return response.body as unknown as Answer<Result>
  }
  const advice = 'List the one that does in the settings.'
  throw new GatewayError('not_found', `No listed plugin serves ${method} ${pathname}. ${advice}`)
}

/** The cast is safe: endpoints of managed things do not look at the request. */
const NO_REQUEST = {} as IncomingMessage

/** Returns the texts of the parameters; undefined if the path is another one. */
function matchPath(template: string, path: string): Readonly<Record<string, string>> | undefined {
  const [names, words] = [template.split('/'), path.split('/')]
  if (names.length !== words.length) return undefined
  const texts: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const word = words[index] ?? ''
    const [, parameter] = /^\{(\w+)\}$/.exec(name) ?? []
    if (parameter !== undefined) texts[parameter] = decodeURIComponent(word)
    else if (name !== word) return undefined
  }
  return texts
}
