import type { ComponentChildren } from 'preact'
import type { LiveState } from '../lib/data.ts'
import type { Rule } from '../lib/drafts.ts'
import { formatAge, formatTime, formatUtc } from '../lib/format.ts'
import { users } from '../lib/names.ts'
import { href } from '../lib/router.ts'
import type { Actor, RuleOrigin } from '../lib/schemas.ts'
import { canReadPastRules, isOperator } from '../lib/session.ts'
import { summarizeRule } from './diff.tsx'

/** A time in the zone of the page; UTC on hover. */
export function Time({ value, relative = false }: { readonly value: string; readonly relative?: boolean }) {
  return (
    <time dateTime={new Date(value).toISOString()} title={formatUtc(value)}>
      {relative ? formatAge(value) : formatTime(value)}
    </time>
  )
}

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain'

export function Badge({
  tone = 'plain',
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}) {
  return <span class={`badge ${tone}`}>{children}</span>
}

export function StatusBadge({ status }: { readonly status: number }) {
  return <Badge tone={status < 300 ? 'good' : status < 500 ? 'warn' : 'bad'}>{status}</Badge>
}

const ACTION_TONES: Readonly<Record<string, Tone>> = {
  ...{ block: 'bad', mask: 'info', warn: 'warn' },
  ...{ allow: 'good', deny: 'bad', hide: 'bad', require_approval: 'info' },
}

export function ActionBadge({ action }: { readonly action: string }) {
  return <Badge tone={ACTION_TONES[action] ?? 'plain'}>{action}</Badge>
}

export function ActorName({ actor }: { readonly actor: Actor }) {
  return (
    <span title={`${actor.type} ${actor.id}`}>
      {actor.name || actor.id} {actor.type !== actor.name && <small class="muted">{actor.type}</small>}
    </span>
  )
}

export function UserLink({ id, name }: { readonly id: number | null | undefined; readonly name?: string }) {
  if (id == null) return <span class="muted">–</span>
  if (!isOperator()) return <span>you</span>
  return <a href={href(`/users/${id}`)}>{name ?? users.of(id)}</a>
}

/** Users may use the same names, so operators need the user. */
export function SessionLink({ id, user }: { readonly id: string; readonly user: number }) {
  const address = `/sessions/${encodeURIComponent(id)}`
  return <a href={href(address, isOperator() ? { user } : {})}>{id}</a>
}

/** Links operators to a policy, or to one of its rules, such as `firewall:12`. */
export function PolicyLink({
  origin,
  rule,
}: {
  readonly origin: Pick<RuleOrigin, 'id'> & Partial<RuleOrigin>
  readonly rule?: string
}) {
  const { id, name = `policy ${id}` } = origin
  return isOperator() ? <a href={href(`/policies/${id}`, { rule })}>{name}</a> : <span>{name}</span>
}

/** Links to the rules that decided, for viewers who may read them. */
export function pastRulesLink({ user_id: user, rules_position: at }: DecidedRecord) {
  return canReadPastRules() && <a href={href('/time', { user, at })}>The rules of then (position {at})</a>
}

interface DecidedRecord {
  readonly user_id: number
  readonly rules_position: number
}

/** The name of a rule, and what it looks for and does. */
export function RuleLine({ rule }: { readonly rule: Rule }) {
  return (
    <>
      {rule.action && <ActionBadge action={rule.action} />} <b>{rule.name}</b>{' '}
      <span class="muted">
        {rule.origin && 'name' in rule.origin ? `of ${rule.origin.name}: ` : ''}
        {summarizeRule(rule)}
      </span>
    </>
  )
}

interface StatProps {
  readonly label: string
  readonly value: ComponentChildren
  readonly note?: ComponentChildren
}

export function Stat({ label, value, note }: StatProps) {
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd>
        {value} {note && <small class="muted">{note}</small>}
      </dd>
    </div>
  )
}

const STATES: Readonly<Record<LiveState, readonly [Tone, string]>> = {
  live: ['good', 'live'],
  connecting: ['warn', 'connecting'],
  refused: ['bad', 'refused: too many viewers, or the session has ended'],
}

export function LiveBadge({ state }: { readonly state: LiveState }) {
  const [tone, text] = STATES[state]
  return <Badge tone={tone}>{text}</Badge>
}
