import type { JsonObject, Plan, Position, Replay, RuleSet, UserLimits } from '../../core/contract/index.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import type { RequestFilter } from '../ledger/index.ts'
import type { DraftOwner } from './draft-events.ts'
import type { WhatIfReport } from './schemas.ts'
import type { ToolCallsReport } from './tool-call-schemas.ts'

/** What the thread is asked to evaluate. Rules of users are fetched while it runs. */
export interface WhatIfJob {
  readonly filter: RequestFilter
  /** Maximum number of requests. */
  readonly limit: number
  /** Maximum number of examples. */
  readonly examples: number
  /** The policies as they are, as saved by their projection. */
  readonly policies: readonly string[]
  /** The budgets of everything, and of groups by id. Those of users come with them. */
  readonly budgets: {
    readonly overall: Budget | undefined
    readonly groups: readonly (readonly [id: number, budget: Budget])[]
  }
  /** What the drafts would append. */
  readonly events: readonly DomainEvent[]
  readonly drafts: readonly DraftOwner[]
  /** The default of each tool server, by name. */
  readonly toolServers: Readonly<Record<string, 'allow' | 'deny'>>
}

/** A user as they are now. */
export interface CurrentCaller {
  readonly userId: number
  readonly name: string
  readonly plan: Plan
  readonly position: Position
  readonly groups: readonly number[]
  readonly rules: RuleSet
  /** Log position of the newest event that the user's requests depend on. */
  readonly rulesPosition: Position
  /** The user's keys, the models that they are restricted to, and their budgets. */
  readonly keys: readonly {
    readonly id: string
    readonly models?: readonly string[]
    readonly budget?: Budget
  }[]
  readonly limits: UserLimits
  readonly budget?: Budget
}

/** A request to `/v1/responses`. */
export interface RepliedRequest {
  readonly requestId: string
  readonly userId: number
}

export interface WhatIfProgress {
  readonly evaluated: number
  /** Requests that were read so far. */
  readonly requests: number
}

/** A plugin that every request passes through. */
export interface ListedPlugin {
  readonly name: string
  readonly replay: Replay | undefined
  readonly decides: boolean
  /** It may refuse, answer or change requests in another phase. */
  readonly actsElsewhere: boolean
  /** It decides, or has conditions or actions that may, by events of its own. */
  readonly decidesByEvents: boolean
}

export interface WhatIfOutcome {
  readonly report: WhatIfReport
  readonly toolCalls: ToolCallsReport
  readonly plugins: readonly ListedPlugin[]
  /** Whether response rules are in force. */
  readonly inspectsReplies: boolean
  /** The limits that are in force. */
  readonly replays: Readonly<Record<'budgets' | 'rateLimits', boolean>>
}

/** What the thread serves. */
export type WhatIfThreadMethods = {
  run: { params: WhatIfJob; result: WhatIfOutcome }
  /** Ends the running job early; its result is then incomplete, and not used. */
  cancel: { params: Readonly<Record<never, never>>; result: Readonly<Record<never, never>> }
}

/** What the thread asks of the process that started it. */
export type WhatIfHostMethods = {
  /** Returns the first of these users, as many as may be copied at once; null for users who do not exist. */
  callers: {
    params: { readonly userIds: readonly number[] }
    result: { readonly callers: readonly (CurrentCaller | null)[] }
  }
  /**
   * Returns the output items of the stored responses of the first of these requests, as many as may be copied
   * at once; null for those that are not stored.
   */
  replies: {
    params: { readonly requests: readonly RepliedRequest[] }
    result: { readonly replies: readonly (readonly JsonObject[] | null)[] }
  }
  progress: { params: WhatIfProgress; result: Readonly<Record<never, never>> }
}
