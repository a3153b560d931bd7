import type { Position, Rule, RuleSet } from '../../core/contract/index.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import { policyStream } from '../../projections/events/policies.ts'
import type { RuleOwner, UserRules } from '../../projections/events/rules.ts'
import {
  eventsAsOf,
  foldRules,
  foldRulesTwice,
  toPastRuleSet,
  userStreams,
} from '../../projections/history.ts'
import type { PastEvent, ReadPastEvents } from '../../projections/past-events.ts'
import { emptyUserRules, type RuleKindName } from '../../projections/rules.ts'
import type { RuleHistory } from '../rules/index.ts'
import { createRuleCommands, diffRules, type RuleKinds } from '../rules/index.ts'
import { type AuditEntry, findAuditEntries, showAuditEntry, toAuditEntries } from './audit-entries.ts'
import { isContested, type LostRaces } from './lost-races.ts'

/** What counts as now. */
export interface Present {
  /** The newest position that the node has applied. */
  readonly position: Position
  /** Unix milliseconds. */
  readonly time: number
  readonly lostRaces: LostRaces
}

/** The methods of `RuleHistory` as calls that can be sent to a thread. */
export type HistoryCall = {
  [Method in keyof RuleHistory]: {
    readonly method: Method
    readonly query: Parameters<RuleHistory[Method]>[0]
  }
}[keyof RuleHistory]

export type HistoryResult = Awaited<ReturnType<RuleHistory[keyof RuleHistory]>>

/** Answers calls in the calling thread, in slices. `kinds` are only used to show rules. */
export function createHistoryMethods(
  readPastEvents: ReadPastEvents,
  kinds: RuleKinds,
): (call: HistoryCall, present: Present) => Promise<HistoryResult> {
  const readEvents = (owner: RuleOwner) =>
    readPastEvents('policyId' in owner ? [policyStream(owner.policyId)] : userStreams(owner.userId))

  async function readEntries(owner: RuleOwner): Promise<readonly AuditEntry[]> {
    return toAuditEntries(await readEvents(owner), kinds)
  }

  async function readRules(owner: RuleOwner, asOf: AsOf, { position, time }: Present): Promise<RuleSet> {
    const events = eventsAsOf(await readEvents(owner), asOf, position, time)
    return toPastRuleSet(ownerIdOf(owner), await foldRules(emptyUserRules(), events))
  }

  return async ({ method, query }, present) => {
    const { owner } = query
    switch (method) {
      case 'list': {
        const rules = await readRules(owner, query.asOf, present)
        const commands = createRuleCommands(kinds[query.kind], () => rules, owner)
        await commands.prepare()
        return toJson(await commands.list(query.page))
      }
      case 'find': {
        const { routing, firewall, tool, ...rules } = await readRules(owner, query.asOf, present)
        const keepSought = <Kind extends Rule>(kind: RuleKindName, list: readonly Kind[]) =>
          kind === query.kind ? list.filter(({ id }) => id === query.ruleId) : []
        return {
          ...rules,
          routing: keepSought('routing', routing),
          firewall: keepSought('firewall', firewall),
          tool: keepSought('tool', tool),
        }
      }
      case 'diff': {
        const events = await readEvents(owner)
        const earlier = eventsAsOf(events, query.from, present.position, present.time)
        const later = eventsAsOf(events, query.to, present.position, present.time)
        const [before, after] = await foldRulesTwice(earlier, later)
        const toRules = (rules: UserRules) => toPastRuleSet(ownerIdOf(owner), rules)
        const changes = diffRules(toRules(before), toRules(after), kinds)
        return toJson({ data: { from: lastPosition(earlier), to: lastPosition(later), ...changes } })
      }
      case 'changes': {
        const entries = await readEntries(owner)
        const found = entries.filter(({ kind, id }) => kind === query.kind && id === query.ruleId)
        return found.length === 0 ? undefined : toJson({ data: found.map((entry) => showAuditEntry(entry)) })
      }
      case 'page': {
        const isDecided = ({ record }: AuditEntry) =>
          record.position <= present.position || !isContested(record)
        const known = (await readEntries(owner)).filter(isDecided)
        const { entries, next } = findAuditEntries(known, query.filter)
        const show = (entry: AuditEntry) => showAuditEntry(entry, present.lostRaces)
        return toJson({ data: entries.map(show), next_cursor: next })
      }
    }
  }
}

const toJson = (body: object): Uint8Array => new TextEncoder().encode(JSON.stringify(body))

const ownerIdOf = (owner: RuleOwner) => ('policyId' in owner ? owner.policyId : owner.userId)

function lastPosition(events: readonly PastEvent[]): Position {
  return events.at(-1)?.record.position ?? 0
}
