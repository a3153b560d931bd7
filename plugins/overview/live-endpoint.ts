import {
  type Endpoint,
  type EndpointCall,
  endpoint,
  operator,
  type Static,
  Type,
} from '../../core/contract/index.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import { showRecord } from '../ledger/show-record.ts'
import type { StoredRecord } from '../ledger/store/queries.ts'
import type { LiveBatch, LiveFeed } from './live-feed.ts'
import { LiveEvent, liveQuery } from './schemas.ts'

const _LiveQuery = Type.Object(liveQuery)

type LiveFilter = Static<typeof _LiveQuery>

/** Records that wait for a viewer who reads slowly. Further ones are counted. */
const MAX_WAITING = 500

/** Proxies close connections on which nothing is sent for a minute. */
const HEARTBEAT_MS = 15_000

/** `GET /admin/live`: the records of requests as they are written, until the operator is removed. */
export function createLiveEndpoint(
  feed: LiveFeed,
  operators: Pick<OperatorAccounts, 'find'>,
  stopping: AbortSignal,
): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/admin/live',
    access: operator('auditor'),
    operationId: 'watchRequests',
    summary: 'Streams the records of requests as they are written, of all workers of this node.',
    tags: ['admin'],
    query: liveQuery,
    responses: { 200: { description: 'The records, until the client disconnects.', events: LiveEvent } },
    errors: ['ledger_unavailable'],
    async handle({ query, client, author: { actor } }) {
      const viewer = new Viewer(query)
      const unsubscribe = await feed.watch(viewer.receive)
      client.onClose(unsubscribe)
      const isEnded = () =>
        client.isAborted ||
        stopping.aborted ||
        (actor.type === 'operator' && operators.find(actor.id) === undefined)
      return { status: 200, stream: readViewer(viewer, isEnded, client, stopping) }
    },
  })
}

async function* readViewer(
  viewer: Viewer,
  isEnded: () => boolean,
  client: EndpointCall['client'],
  stopping: AbortSignal,
): AsyncGenerator<string> {
  const wake = () => viewer.wake()
  const removeAbort = client.onAbort(wake)
  stopping.addEventListener('abort', wake)
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
    stopping.removeEventListener('abort', wake)
    removeAbort()
  }
}

/** The records that wait for one viewer. */
class Viewer {
  readonly #filter: LiveFilter
  #records: StoredRecord[] = []
  #dropped = 0
  #isBeatDue = false
  #wake: () => void = () => undefined

  constructor(filter: LiveFilter) {
    this.#filter = filter
  }

  readonly receive = ({ records, dropped }: LiveBatch): void => {
    const wanted = records.filter((record) => passes(record, this.#filter))
    const room = Math.max(0, MAX_WAITING - this.#records.length)
    this.#records.push(...wanted.slice(0, room))
    this.#dropped += dropped + Math.max(0, wanted.length - room)
    if (wanted.length + dropped > 0) this.wake()
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
