import { parentPort } from 'node:worker_threads'
import type { SetAsideFile } from '../../../core/event-log/sqlite/damaged-files.ts'
import { createPortTransport } from '../../../core/process/port-transport.ts'
import { createRpcPeer } from '../../../core/process/rpc.ts'
import { errorName } from '../../../core/util/error-message.ts'
import type {
  ForeignFile,
  LedgerOptions,
  LedgerOwnerMethods,
  LedgerThreadMethods,
  LedgerWriteResult,
  OpenedLedger,
  OpenLedgerParams,
} from './methods.ts'
import { decodeRecords, type LedgerRecord } from './record.ts'
import { ServedLedger } from './served-ledger.ts'
import type { LedgerStore } from './store.ts'
import { TailBuffer } from './tail.ts'

/** Thread that owns connections to ledgers, so that no query holds the event loop that serves requests. */

const SWEEP_INTERVAL_MS = 3_600_000
const FIRST_SWEEP_MS = 30_000
const MOVED_FILE_TIMEOUT_MS = 5000

interface LedgerEntry {
  readonly served: ServedLedger
  readonly tail: TailBuffer
  readonly timers: readonly NodeJS.Timeout[]
}

const ledgers = new Map<number, LedgerEntry>()
let lastLedger = 0

const { request } = createRpcPeer<LedgerOwnerMethods, LedgerThreadMethods>(createPortTransport(parentPort), {
  open: openLedger,
  async close({ ledger }) {
    const entry = ledgers.get(ledger)
    ledgers.delete(ledger)
    for (const timer of entry?.timers ?? []) clearInterval(timer)
    await entry?.served.close()
    return {}
  },
  async ledgerWrite({ ledger, call }) {
    const { served, tail } = entryOf(ledger)
    const records = decodeRecords(call.records)
    const rejected = await served.run((store) => write(store, records))
    const lost = new Set(rejected.map(({ requestId }) => requestId))
    tail.add(lost.size === 0 ? records : records.filter(({ requestId }) => !lost.has(requestId)), Date.now())
    return { rejected }
  },
  async ledgerFind({ ledger, call }) {
    const record = await run(ledger, (store) => store.find(call.requestId))
    return record ? { record } : {}
  },
  ledgerList: ({ ledger, call }) => run(ledger, (store) => store.list(call)),
  ledgerUsage: async ({ ledger, call }) => ({ groups: await run(ledger, (store) => store.usage(call)) }),
  ledgerCosts: ({ ledger, call }) => run(ledger, (store) => store.sumCosts(call)),
  async ledgerPrompt({ ledger, call }) {
    const prompt = await run(ledger, (store) => store.findPrompt(call.requestId))
    return prompt ? { prompt } : {}
  },
  ledgerDeletePrompts: ({ ledger, call: { userId, withFeedback = false } }) =>
    run(ledger, async (store) => {
      if (withFeedback) await store.deleteFeedbackOf(userId)
      return { deleted: await store.deletePromptsOf(userId) }
    }),
  ledgerGiveFeedback: ({ ledger, call }) => run(ledger, (store) => store.giveFeedback(call)),
  ledgerFeedback: ({ ledger, call }) => run(ledger, (store) => store.listFeedback(call)),
  ledgerImportRatings: ({ ledger, call }) =>
    run(ledger, async (store) => {
      await store.importRatings(call)
      return {}
    }),
  ledgerDeleteImported: async ({ ledger }) => ({
    deleted: await run(ledger, (store) => store.deleteImported()),
  }),
  ledgerLastUse: async ({ ledger, call }) => ({
    keys: await run(ledger, (store) => store.lastUse(call.userId)),
  }),
  ledgerCopies: async ({ ledger, call }) => ({ sums: await run(ledger, (store) => store.copies(call)) }),
  ledgerSeries: async ({ ledger, call }) => ({ points: await run(ledger, (store) => store.series(call)) }),
  ledgerTail: ({ ledger, call }) => entryOf(ledger).tail.read(call.after, Date.now()),
})

function entryOf(ledger: number): LedgerEntry {
  const entry = ledgers.get(ledger)
  if (entry === undefined) throw new Error('the ledger is closed')
  return entry
}

function run<Result>(ledger: number, call: (store: LedgerStore) => Promise<Result>): Promise<Result> {
  return entryOf(ledger).served.run(call)
}

async function openLedger(options: OpenLedgerParams): Promise<OpenedLedger> {
  const report = (file: SetAsideFile | ForeignFile) =>
    // The main thread answers immediately, unless it is ending.
    void request('movedFile', { owner: options.owner, file }, MOVED_FILE_TIMEOUT_MS).catch(() => undefined)
  const served = new ServedLedger(options, {
    onForeign: (movedTo) => report({ movedTo }),
    onSetAside: report,
  })
  await served.opened()
  const timers = options.isWriter ? scheduleSweeps(served, options) : []
  lastLedger += 1
  ledgers.set(lastLedger, { served, tail: new TailBuffer(), timers })
  return { ledger: lastLedger }
}

function scheduleSweeps(served: ServedLedger, { retention }: LedgerOptions): readonly NodeJS.Timeout[] {
  const sweep = () => void sweepAll().catch(() => undefined)
  /** Works in small steps, so that batches are written in between. After an error, the next hour retries. */
  async function sweepAll(): Promise<void> {
    while (await served.run((store) => store.sweep(retention, Date.now()))) await new Promise(setImmediate)
  }
  return [setTimeout(sweep, FIRST_SWEEP_MS).unref(), setInterval(sweep, SWEEP_INTERVAL_MS).unref()]
}

/** Writes records; if one of them cannot be stored, all but that one. */
async function write(
  store: LedgerStore,
  records: readonly LedgerRecord[],
): Promise<LedgerWriteResult['rejected']> {
  try {
    await store.write(records)
    return []
  } catch (error) {
    if (!isAboutData(error)) throw error
    const [record] = records
    if (record === undefined) throw error
    if (records.length === 1) return [{ requestId: record.requestId, reason: errorName(error) }]
  }
  const middle = Math.ceil(records.length / 2)
  const rejected = await write(store, records.slice(0, middle))
  return [...rejected, ...(await write(store, records.slice(middle)))]
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
