import {
  type Endpoint,
  type EndpointCall,
  endpoint,
  errorsOf,
  type GatewayError,
  type OperatorScope,
  operator,
  type Static,
  Type,
} from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { apiKeyOf, hashApiKey } from '../auth/index.ts'
import {
  isRecordInScope,
  type LedgerCalls,
  narrowRecord,
  type StoredRecord,
  showRecord,
} from '../ledger/index.ts'
import { LiveEvent, liveQuery } from './schemas.ts'
import type { OverviewServices } from './services.ts'

/** What a viewer receives: records, or the number of records that were dropped. */
interface LiveBatch {
  readonly records: readonly StoredRecord[]
  readonly dropped: number
}

const POLL_MS = 500

/**
 * Asks the ledger for the records that were written last, once for all viewers of this process. The process
 * that writes for all workers answers. See docs/decisions/ledger.md, "Whoever watches asks the writer".
 */
export class LiveFeed {
  readonly #ledger: Pick<LedgerCalls, 'tail'>
  readonly #onError: (reason: string) => void
  readonly #viewers = new Set<(batch: LiveBatch) => void>()
  #after: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isPolling = false
  #isAway = false

  constructor(ledger: Pick<LedgerCalls, 'tail'>, onError: (reason: string) => void) {
    this.#ledger = ledger
    this.#onError = onError
  }

  /** Resolves when records that are written from now on are received. Returns an unsubscribe function. */
  async watch(receive: (batch: LiveBatch) => void): Promise<() => void> {
    if (this.#after === undefined) {
      const { next } = await this.#ledger.tail(undefined)
      // Another viewer may have come first, and would miss what was written in between.
      this.#after ??= next
    }
    this.#viewers.add(receive)
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS).unref()
    return () => {
      this.#viewers.delete(receive)
      if (this.#viewers.size === 0) this.close()
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#after = undefined
  }

  async #poll(): Promise<void> {
    const after = this.#after
    if (this.#isPolling || after === undefined) return
    this.#isPolling = true
    try {
      const { records, next, dropped } = await this.#ledger.tail(after)
      this.#isAway = false
      if (this.#after === undefined) return
      this.#after = next
      if (records.length + dropped > 0) for (const receive of this.#viewers) receive({ records, dropped })
    } catch (error) {
      if (!this.#isAway) this.#onError(errorMessage(error))
      this.#isAway = true
    } finally {
      this.#isPolling = false
    }
  }
}

const _LiveQuery = Type.Object(liveQuery)

type LiveFilter = Static<typeof _LiveQuery>

/** Records that wait for a viewer who reads slowly. Further ones are counted. */
const MAX_WAITING = 500

/** Proxies close connections on which nothing is sent for a minute. */
const HEARTBEAT_MS = 15_000

/** Each viewer holds a connection, and every record is encoded for each. */
export const MAX_VIEWERS = 100

export const LIVE_ERROR_CODES = {
  too_many_viewers: {
    ...{ status: 429, type: 'rate_limit_error' },
    description: 'Too many viewers watch the requests.',
  },
} as const

const liveError = errorsOf(LIVE_ERROR_CODES)

/**
 * `GET /admin/live`: the records of requests as they are written, until the operator is removed, the scope
 * changes, or the key or the session of the console ends.
 */
export function createLiveEndpoint(
  feed: LiveFeed,
  { operators, sessions }: Pick<OverviewServices, 'operators' | 'sessions'>,
  stopping: AbortSignal,
): Endpoint {
  const viewers = new Set<Viewer>()
  stopping.addEventListener('abort', () => {
    for (const viewer of viewers) viewer.wake()
  })
  return endpoint({
    method: 'GET',
    path: '/admin/live',
    access: operator('auditor', 'filtered'),
    operationId: 'watchRequests',
    summary: 'Streams the records of requests as they are written, of all workers of this node.',
    tags: ['admin'],
    query: liveQuery,
    responses: { 200: { description: 'The records, until the client disconnects.', events: LiveEvent } },
    errors: ['ledger_unavailable', 'too_many_viewers'],
    async handle({ query, client, headers, author: { actor }, scope }) {
      if (viewers.size >= MAX_VIEWERS) throw createTooManyViewersError()
      const viewer = new Viewer(query, scope)
      const watched = operators.find(actor.id)?.scope
      viewers.add(viewer)
      client.onClose(() => viewers.delete(viewer))
      client.onClose(await feed.watch(viewer.receive))
      const key = apiKeyOf({ headers })
      const hash = key === undefined ? undefined : hashApiKey(key)
      const isKey = hash !== undefined && operators.byKeyHash(hash) !== undefined
      const isEnded = () =>
        client.isAborted ||
        stopping.aborted ||
        (key === undefined && !sessions.isCurrent(headers)) ||
        (isKey && operators.byKeyHash(hash) === undefined) ||
        (actor.type === 'operator' && operators.find(actor.id)?.scope !== watched)
      return { status: 200, stream: readViewer(viewer, isEnded, client) }
    },
  })
}

function createTooManyViewersError(): GatewayError {
  const message =
    `${MAX_VIEWERS} viewers watch the requests of this process already, which is the limit. ` +
    'Close another one, or try again later.'
  return liveError('too_many_viewers', message, { retryAfter: 30 })
}

async function* readViewer(
  viewer: Viewer,
  isEnded: () => boolean,
  client: EndpointCall['client'],
): AsyncGenerator<string> {
  const removeAbort = client.onAbort(() => viewer.wake())
  const heartbeat = setInterval(viewer.beat, HEARTBEAT_MS)
  try {
    // Says that from now on nothing is missed.
    yield ': watching\n\n'
    while (!isEnded()) {
      const text = viewer.take()
      if (text === '') await viewer.changed()
      else yield text
    }
  } finally {
    clearInterval(heartbeat)
    removeAbort()
  }
}

/** The records that wait for one viewer. */
class Viewer {
  readonly #filter: LiveFilter
  readonly #scope: OperatorScope | undefined
  #records: StoredRecord[] = []
  #dropped = 0
  #isBeatDue = false
  #wake: () => void = () => undefined

  constructor(filter: LiveFilter, scope: OperatorScope | undefined) {
    this.#filter = filter
    this.#scope = scope
  }

  readonly receive = ({ records, dropped }: LiveBatch): void => {
    const scope = this.#scope
    const wanted = records
      .filter((record) => passes(record, this.#filter) && (!scope || isRecordInScope(record, scope)))
      .map((record) => narrowRecord(record, scope))
    const room = Math.max(0, MAX_WAITING - this.#records.length)
    this.#records.push(...wanted.slice(0, room))
    // Nobody knows of which groups the requests were that the ledger has dropped.
    const lost = (scope ? 0 : dropped) + Math.max(0, wanted.length - room)
    this.#dropped += lost
    if (wanted.length + lost > 0) this.wake()
  }

  readonly beat = (): void => {
    this.#isBeatDue = true
    this.wake()
  }

  wake(): void {
    this.#wake()
  }

  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Returns what waits, as SSE records. */
  take(): string {
    const records = this.#records.splice(0)
    let text = records
      .map((record) => `event: request\ndata: ${JSON.stringify(showRecord(record))}\n\n`)
      .join('')
    if (this.#dropped > 0) text += `event: dropped\ndata: {"count":${this.#dropped}}\n\n`
    if (this.#isBeatDue) text += ': heartbeat\n\n'
    this.#dropped = 0
    this.#isBeatDue = false
    return text
  }
}

function passes(record: StoredRecord, filter: LiveFilter): boolean {
  const { user, key, status, model, provider, endpoint, action, failed } = filter
  return (
    (user === undefined || record.userId === user) &&
    (key === undefined || record.keyId === key) &&
    (status === undefined || record.status === status) &&
    (model === undefined || record.model === model) &&
    (provider === undefined || record.provider === provider) &&
    (endpoint === undefined || record.endpoint === endpoint) &&
    (failed !== true || record.error !== null) &&
    (action === undefined ||
      record.rules.some((entry) => entry.action === action && entry.outcome === 'applied'))
  )
}
