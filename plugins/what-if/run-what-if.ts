import { invalidParameterError } from '../../core/http/parse-call.ts'
import { type CallerSource, rulesPositionOf } from '../../core/pipeline/inference.ts'
import { pickLimits } from '../../projections/events/users.ts'
import type { Policies } from '../../projections/policies.ts'
import { allRules } from '../../projections/rules.ts'
import type { RequestFilter } from '../ledger/index.ts'
import { createLedgerUnavailableError, DAY_MS } from '../ledger/index.ts'
import type { ToolServer } from '../mcp/index.ts'
import type { Responses } from '../responses/index.ts'
import type { RulesFile } from '../rules-file/index.ts'
import { planFile, type RulesFileServices } from '../rules-file/index.ts'
import { toDraftEvents } from './draft-events.ts'
import type { CurrentCaller, WhatIfJob, WhatIfProgress } from './job.ts'
import { explain, listLimitations } from './limitations.ts'
import { readReplies } from './recorded-replies.ts'
import type { ShownWhatIf } from './schemas.ts'
import type { WhatIfThread } from './thread.ts'

export interface WhatIfServices extends RulesFileServices {
  /** Finds a stored response of a user. */
  readonly findResponse: Responses['find']
  readonly policies: RulesFileServices['policies'] & Pick<Policies, 'save'>
  readonly callers: CallerSource
  readonly thread: WhatIfThread
  /** The tool servers, also those that are not enabled. */
  listToolServers(): readonly Pick<ToolServer, 'name' | 'default'>[]
  /** Writes the records that wait. Rejects if the ledger is away. */
  readonly settleLedger: () => Promise<void>
}

export interface WhatIfQuestion {
  readonly file: RulesFile
  readonly filter: RequestFilter
  readonly limit: number
  readonly examples: number
}

/** Without a range, the last days are evaluated. */
const DEFAULT_DAYS = 7

/**
 * Evaluates what the rules of a file would do to recorded requests. Throws 422 with all issues of the file.
 * See docs/decisions/what-if.md, "Both versions are evaluated".
 */
export async function runWhatIf(
  { file, filter, limit, examples }: WhatIfQuestion,
  services: WhatIfServices,
  signal: AbortSignal,
  onProgress: (progress: WhatIfProgress) => void = () => undefined,
): Promise<ShownWhatIf> {
  const startedAt = performance.now()
  // `until` is exclusive, and the last requests may have arrived in this millisecond.
  const { until = Date.now() + 1 } = filter
  const { since = until - DEFAULT_DAYS * DAY_MS } = filter
  if (since > until) throw invalidParameterError('since', 'since must not be after until.')
  const plan = await planFile(file, services)
  const drafts = toDraftEvents(plan, services)
  await services.settleLedger().catch((cause: unknown) => {
    throw createLedgerUnavailableError('Requests cannot be read at the moment. Retry later.', cause)
  })
  const { report, toolCalls, ...outcome } = await services.thread.run({
    job: {
      filter: { ...filter, since, until },
      limit,
      examples,
      policies: [...services.policies.save()],
      budgets: readBudgets(services),
      events: drafts.events,
      drafts: drafts.owners,
      toolServers: Object.fromEntries(
        services.listToolServers().map((server) => [server.name, server.default]),
      ),
    },
    handlers: {
      callers: ({ userIds }) => ({ callers: readCallers(userIds, services) }),
      replies: async ({ requests }) => ({ replies: await readReplies(requests, services.findResponse) }),
      progress(progress) {
        onProgress(progress)
        return {}
      },
    },
    signal,
  })
  return {
    rules_position: plan.position,
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    ...report,
    not_evaluated: report.not_evaluated.map((entry) => explain(entry, 'request')),
    replies: {
      ...report.replies,
      not_evaluated: report.replies.not_evaluated.map((entry) => explain(entry, 'reply')),
    },
    tool_calls: toolCalls,
    limitations: [...listLimitations({ ...outcome, drafts, filter, report, toolCalls })],
    elapsed_ms: Math.round(performance.now() - startedAt),
  }
}

function readBudgets({ groups, overallBudget }: WhatIfServices): WhatIfJob['budgets'] {
  return {
    overall: overallBudget.current(),
    groups: groups.groups().flatMap(({ id, budget }) => (budget ? [[id, budget] as const] : [])),
  }
}

/** Rules that are copied to the thread at once. Bounds how long it holds the event loop. */
const MAX_COPIED_RULES = 500

function readCallers(
  userIds: readonly number[],
  services: WhatIfServices,
): readonly (CurrentCaller | null)[] {
  const callers: (CurrentCaller | null)[] = []
  let rules = 0
  for (const userId of userIds) {
    const caller = readCaller(userId, services)
    callers.push(caller)
    // Looking a user up takes some time, too.
    rules += 5 + (caller === null ? 0 : allRules(caller.rules).length)
    if (rules > MAX_COPIED_RULES) break
  }
  return callers
}

function readCaller(userId: number, { accounts, groups, callers }: WhatIfServices): CurrentCaller | null {
  const user = accounts.user(userId)
  if (user === undefined) return null
  const { name, plan, position, keys, budget } = user
  const caller = callers.snapshot({ userId, name, plan, keyId: '', position })
  return {
    userId,
    name,
    plan,
    position,
    groups: groups.groupsOf(userId),
    rules: caller.rules,
    rulesPosition: rulesPositionOf(caller),
    keys: keys.map(({ id, models, budget }) => ({
      id,
      ...(models && { models }),
      ...(budget && { budget }),
    })),
    limits: pickLimits(user),
    ...(budget && { budget }),
  }
}
