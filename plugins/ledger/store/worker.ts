import type { SetAsideFile } from '../../../core/event-log/sqlite/damaged-files.ts'
import { serveThread } from '../../../core/threads/thread.ts'
import { errorName } from '../../../core/util/error-message.ts'
import {
  callLedger,
  createLedgerCalls,
  type ForeignFile,
  type LedgerCalls,
  type LedgerOptions,
  type LedgerOwnerMethods,
  type LedgerThreadMethods,
  type OpenedLedger,
  type OpenLedgerParams,
  type RejectedRecord,
  type StoreCalls,
} from './methods.ts'
import { decodeRecords, type RecordBatch } from './record-batch.ts'
import { ServedLedger } from './served-ledger.ts'
import type { LedgerStore } from './store.ts'
import { TailBuffer } from './tail.ts'

/** Thread that owns connections to ledgers, so that no query holds the event loop that serves requests. */

/** Stored responses are gone soon after they have expired. */
const SWEEP_INTERVAL_MS = 60_000
const FIRST_SWEEP_MS = 30_000

interface LedgerEntry {
  readonly served: ServedLedger
  readonly calls: LedgerCalls
  readonly timers: readonly NodeJS.Timeout[]
}

const ledgers = new Map<number, LedgerEntry>()
let lastLedger = 0

const owner = serveThread<LedgerOwnerMethods, LedgerThreadMethods>({
  open: openLedger,
  async close({ ledger }) {
    const entry = ledgers.get(ledger)
    ledgers.delete(ledger)
    for (const timer of entry?.timers ?? []) clearInterval(timer)
    await entry?.served.close()
    return {}
  },
  call: ({ ledger, ...call }) => callLedger(entryOf(ledger).calls, call),
})

function entryOf(ledger: number): LedgerEntry {
  const entry = ledgers.get(ledger)
  if (entry === undefined) throw new Error('the ledger is closed')
  return entry
}

/** Calls of a store that this thread keeps open, and what is not part of it. */
function serveCalls(served: ServedLedger): LedgerCalls {
  const tail = new TailBuffer()
  return {
    ...createLedgerCalls((method, params) =>
      // `write` and `tail` are below.
      served.run((store) => store[method as keyof StoreCalls](params as never) as Promise<unknown>),
    ),
    async write(encoded) {
      const batch = decodeRecords(encoded)
      const rejected = await served.run((store) => write(store, batch))
      tail.add(rejected.length === 0 ? batch : without(batch, rejected), Date.now())
      return rejected
    },
    tail: async (after) => tail.read(after, Date.now()),
  }
}

async function openLedger(options: OpenLedgerParams): Promise<OpenedLedger> {
  const report = (file: SetAsideFile | ForeignFile) =>
    owner.notify('movedFile', { owner: options.owner, file })
  const served = new ServedLedger(options, {
    onForeign: (movedTo) => report({ movedTo }),
    onSetAside: report,
  })
  await served.opened()
  const timers = options.isWriter ? scheduleSweeps(served, options) : []
  lastLedger += 1
  ledgers.set(lastLedger, { served, calls: serveCalls(served), timers })
  return { ledger: lastLedger }
}

function scheduleSweeps(served: ServedLedger, { retention }: LedgerOptions): readonly NodeJS.Timeout[] {
  const sweep = () => void sweepAll().catch(() => undefined)
  /** Works in small steps, so that batches are written in between. After an error, the next sweep retries. */
  async function sweepAll(): Promise<void> {
    while (await served.run((store) => store.sweep(retention, Date.now()))) await new Promise(setImmediate)
  }
  return [setTimeout(sweep, FIRST_SWEEP_MS).unref(), setInterval(sweep, SWEEP_INTERVAL_MS).unref()]
}

/** Writes records; if one of them cannot be stored, all but that one. */
async function write(store: LedgerStore, batch: RecordBatch): Promise<readonly RejectedRecord[]> {
  try {
    await store.write(batch)
    return []
  } catch (error) {
    if (!isAboutData(error)) throw error
    const [requestId] = batch.requestIds
    if (requestId === undefined) throw error
    if (batch.count === 1) return [{ requestId, reason: errorName(error) }]
  }
  const indexes = [...batch.requestIds.keys()]
  const middle = Math.ceil(batch.count / 2)
  const rejected = await write(store, batch.pick(indexes.slice(0, middle)))
  return [...rejected, ...(await write(store, batch.pick(indexes.slice(middle))))]
}

function without(batch: RecordBatch, rejected: readonly RejectedRecord[]): RecordBatch {
  const lost = new Set(rejected.map(({ requestId }) => requestId))
  const indexes = [...batch.requestIds.keys()]
  return batch.pick(indexes.filter((index) => !lost.has(batch.requestIds[index] ?? '')))
}

/** The database works, but a value does not fit it, or is not of the type that a record has. */
function isAboutData(error: unknown): boolean {
  // PostgreSQL's classes of codes for data, constraints and limits, and what SQLite has in their place.
  return (
    /^(2[23]|54)...$|^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(errorName(error)) ||
    error instanceof RangeError ||
    error instanceof TypeError
  )
}
