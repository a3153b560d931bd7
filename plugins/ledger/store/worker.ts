import { closeSync, mkdirSync, openSync, renameSync } from 'node:fs'
import path from 'node:path'
import { parentPort } from 'node:worker_threads'
import { createRpcPeer } from '../../../core/process/rpc.ts'
import { ForeignLedgerError } from './database.ts'
import type { LedgerOptions, LedgerThreadMethods, LedgerWriteResult, OpenedLedger } from './methods.ts'
import { createPromptCipher } from './prompt-cipher.ts'
import { decodeRecords, type LedgerRecord } from './record.ts'
import { type LedgerStore, openLedgerStore } from './store.ts'
import { TailBuffer } from './tail.ts'

/** Thread that owns connections to ledgers, so that no query holds the event loop that serves requests. */

const SWEEP_INTERVAL_MS = 3_600_000
const FIRST_SWEEP_MS = 30_000

interface ServedLedger {
  readonly store: LedgerStore
  readonly tail: TailBuffer
  readonly timers: readonly NodeJS.Timeout[]
}

const ledgers = new Map<number, ServedLedger>()
let lastLedger = 0

const transport = {
  send: (message: unknown) => parentPort?.postMessage(message),
  listen: (receive: (message: unknown) => void) => void parentPort?.on('message', receive),
}

createRpcPeer<Record<never, never>, LedgerThreadMethods>(transport, {
  open: openLedger,
  async close({ ledger }) {
    const served = ledgers.get(ledger)
    ledgers.delete(ledger)
    for (const timer of served?.timers ?? []) clearInterval(timer)
    await served?.store.close()
    return {}
  },
  async ledgerWrite({ ledger, call }) {
    const { store, tail } = servedLedger(ledger)
    const records = decodeRecords(call.records)
    const result = await write(store, records)
    tail.add(records, Date.now())
    return result
  },
  async ledgerFind({ ledger, call }) {
    const record = await storeOf(ledger).find(call.requestId)
    return record ? { record } : {}
  },
  ledgerList: ({ ledger, call }) => storeOf(ledger).list(call),
  ledgerUsage: async ({ ledger, call }) => ({ groups: await storeOf(ledger).usage(call) }),
  ledgerCosts: ({ ledger, call }) => storeOf(ledger).sumCosts(call),
  async ledgerPrompt({ ledger, call }) {
    const prompt = await storeOf(ledger).findPrompt(call.requestId)
    return prompt ? { prompt } : {}
  },
  async ledgerDeletePrompts({ ledger, call: { userId, withFeedback = false } }) {
    const store = storeOf(ledger)
    if (withFeedback) await store.deleteFeedbackOf(userId)
    return { deleted: await store.deletePromptsOf(userId) }
  },
  ledgerGiveFeedback: ({ ledger, call }) => storeOf(ledger).giveFeedback(call),
  ledgerFeedback: ({ ledger, call }) => storeOf(ledger).listFeedback(call),
  ledgerRatings: ({ ledger, call }) => storeOf(ledger).ratings(call),
  ledgerLastUse: async ({ ledger, call }) => ({ keys: await storeOf(ledger).lastUse(call.userId) }),
  ledgerSeries: async ({ ledger, call }) => ({ points: await storeOf(ledger).series(call) }),
  ledgerTail: ({ ledger, call }) => servedLedger(ledger).tail.read(call.after, Date.now()),
})

function servedLedger(ledger: number): ServedLedger {
  const served = ledgers.get(ledger)
  if (served === undefined) throw new Error('the ledger is closed')
  return served
}

function storeOf(ledger: number): LedgerStore {
  return servedLedger(ledger).store
}

async function openLedger(options: LedgerOptions & { readonly isWriter: boolean }): Promise<OpenedLedger> {
  const { location, logId, isWriter, keys } = options
  const cipher = createPromptCipher(keys)
  let setAside: string | undefined
  if (location.engine === 'sqlite' && isWriter) prepareFile(location.file)
  const store = await openLedgerStore(location, logId, { isWriter, cipher }).catch((error: unknown) => {
    if (!(error instanceof ForeignLedgerError) || location.engine !== 'sqlite') throw error
    setAside = setFileAside(location.file, error.logId)
    prepareFile(location.file)
    return openLedgerStore(location, logId, { cipher })
  })
  lastLedger += 1
  const timers = isWriter ? scheduleSweeps(store, options) : []
  ledgers.set(lastLedger, { store, tail: new TailBuffer(), timers })
  return { ledger: lastLedger, ...(setAside !== undefined && { setAside }) }
}

/** Only the gateway's own user may read who sent which requests. */
function prepareFile(file: string): void {
  mkdirSync(path.dirname(file), { recursive: true })
  closeSync(openSync(file, 'a', 0o600))
}

/** See docs/decisions/ledger.md, "The ledger of another event log is not mixed in". */
function setFileAside(file: string, logId: string): string {
  const { dir, name, ext } = path.parse(file)
  const target = path.join(dir, `${name}-${logId}${ext}`)
  // The closed database has no write-ahead log.
  renameSync(file, target)
  return target
}

function scheduleSweeps(store: LedgerStore, { retention }: LedgerOptions): readonly NodeJS.Timeout[] {
  const sweep = () => void sweepAll().catch(() => undefined)
  /** Works in small steps, so that batches are written in between. After an error, the next hour retries. */
  async function sweepAll(): Promise<void> {
    while (await store.sweep(retention, Date.now())) await new Promise(setImmediate)
  }
  return [setTimeout(sweep, FIRST_SWEEP_MS).unref(), setInterval(sweep, SWEEP_INTERVAL_MS).unref()]
}

/** Writes all records, or each for itself if the database does not accept one of them. */
async function write(store: LedgerStore, records: readonly LedgerRecord[]): Promise<LedgerWriteResult> {
  try {
    await store.write(records)
    return { rejected: 0 }
  } catch (error) {
    if (!isAboutData(error)) throw error
    if (records.length === 1) return { rejected: 1 }
  }
  let rejected = 0
  for (const record of records) rejected += (await write(store, [record])).rejected
  return { rejected }
}

/** The database works, but a value does not fit it. */
function isAboutData(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // PostgreSQL's classes of codes for data and for constraints, and what SQLite has in their place.
  return /^2[23]...$|^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code) || error instanceof RangeError
}
