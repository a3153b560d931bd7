import { workerData } from 'node:worker_threads'
import { optional } from '../../core/contract/index.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { serveThread } from '../../core/threads/thread.ts'
import { currentThreadId, lowerThreadPriority } from '../../core/threads/thread-cpu.ts'
import { lazy } from '../../core/util/lazy.ts'
import { BudgetOptions } from '../../plugins/budget/index.ts'
import { ResponseRules, ToolFirewall } from '../../plugins/firewall/index.ts'
import { createPromptCipher } from '../../plugins/ledger/store/prompt-cipher.ts'
import { type LedgerStore, openLedgerStore } from '../../plugins/ledger/store/store.ts'
import { RateLimits } from '../../plugins/rate-limit/index.ts'
import { ToolRules } from '../../plugins/tool-rules/index.ts'
import { evaluateDrafts } from '../../plugins/what-if/evaluate.ts'
import { evaluateToolCalls } from '../../plugins/what-if/evaluate-tools.ts'
import type {
  CurrentCaller,
  ListedPlugin,
  WhatIfHostMethods,
  WhatIfJob,
  WhatIfOutcome,
  WhatIfThreadMethods,
} from '../../plugins/what-if/job.ts'
import { openEmptyState } from './empty-state.ts'
import { type OfflineGateway, openOfflineGateway } from './offline-gateway.ts'
import type { WhatIfWorkerData } from './what-if-thread.ts'

/**
 * Thread that evaluates drafts: it reads and decrypts recorded requests, and decides about them with the
 * plugins of the gateway. Live requests run first. See docs/decisions/what-if.md.
 */

const { ledger, pluginFolder, ...data }: WhatIfWorkerData = workerData
const settings = {
  ...data.settings,
  rereadModels: () => data.settings.models,
  // Only endpoints show it.
  report: () => ({ file: null, settings: [] }),
}
lowerThreadPriority(currentThreadId())

const CALLERS_TIMEOUT_MS = 30_000
const REPLIES_TIMEOUT_MS = 30_000

let isCancelled = false

const openStore = lazy(
  (): Promise<LedgerStore> =>
    openLedgerStore(ledger.location, ledger.logId, {
      isWriter: false,
      cipher: createPromptCipher(ledger.keys),
    }),
)

/** What is replayed besides the phase `decide`, if its plugin is listed. */
const REPLAYED = {
  inspectReply: optional(ResponseRules),
  budget: optional(BudgetOptions),
  rateLimits: optional(RateLimits),
  toolRules: optional(ToolRules),
  toolFirewall: optional(ToolFirewall),
}

/** Each compiles one version of the rules. */
const openDeciders = lazy(async () => {
  const logger = createLogger('silent')
  const open = async () => {
    const state = await openEmptyState(settings, logger, ledger.logId)
    const gateway = await openOfflineGateway(settings, state, logger, pluginFolder)
    return { ...gateway, ...(await gateway.use(REPLAYED)) }
  }
  return { before: await open(), after: await open() }
})

const host = serveThread<WhatIfHostMethods, WhatIfThreadMethods>({
  run,
  cancel() {
    isCancelled = true
    return {}
  },
})

async function run(job: WhatIfJob): Promise<WhatIfOutcome> {
  isCancelled = false
  const [store, { before, after }] = await Promise.all([openStore(), openDeciders()])
  const { budget, rateLimits } = before
  const report = await evaluateDrafts(job, {
    ledger: store,
    before,
    after,
    limits: { budget, rateLimits },
    callersOf,
    repliesOf,
    report: (progress) => host.notify('progress', progress),
    isCancelled: () => isCancelled,
  })
  const toolCalls = await evaluateToolCalls(job, {
    ledger: store,
    before: { rules: before.toolRules, firewall: before.toolFirewall },
    after: { rules: after.toolRules, firewall: after.toolFirewall },
    callersOf,
    isCancelled: () => isCancelled,
  })
  return {
    report,
    toolCalls,
    plugins: before.steps.map(describeStep),
    inspectsReplies: before.inspectReply !== undefined,
    replays: { budgets: budget !== undefined, rateLimits: rateLimits !== undefined },
  }
}

/** The process answers with as many as it can copy without holding its event loop. */
async function callersOf(userIds: readonly number[]): Promise<readonly CurrentCaller[]> {
  const found: CurrentCaller[] = []
  for (let start = 0; start < userIds.length; ) {
    const rest = userIds.slice(start)
    const { callers } = await host.request('callers', { userIds: rest }, CALLERS_TIMEOUT_MS)
    found.push(...callers.flatMap((caller) => caller ?? []))
    start += callers.length
  }
  return found
}

/** The process answers with as many as it may copy at once. */
async function repliesOf(requests: WhatIfHostMethods['replies']['params']['requests']) {
  const { replies } = await host.request('replies', { requests }, REPLIES_TIMEOUT_MS)
  return replies
}

function describeStep({ plugin, parts }: OfflineGateway['steps'][number]): ListedPlugin {
  const { name, replay, events } = plugin
  const decides = parts.decide !== undefined
  return {
    name,
    replay,
    decides,
    actsElsewhere: [parts.admit, parts.reply, parts.inspect, parts.middleware].some((part) => part),
    decidesByEvents: events !== undefined && (decides || (parts.conditions ?? parts.actions) !== undefined),
  }
}
