import { useCallback } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { formatAge, formatCount, humanize } from '../lib/format.ts'
import { useInterval, useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import type { RuleOrigin } from '../lib/types.ts'
import { Empty, Panel, ResourceView } from '../ui/page.tsx'
import { Badge, type Tone, UserLink } from '../ui/values.tsx'

interface GatewayStatus {
  readonly providers: readonly {
    readonly provider: string
    readonly state: 'closed' | 'open' | 'half_open'
    readonly open_models: readonly string[]
    readonly is_configured: boolean
  }[]
  readonly event_log: { readonly state: string; readonly position: number }
  readonly ledger: { readonly is_available: boolean }
  readonly checkpoint: { readonly size: number; readonly time: string } | null
  readonly attention: readonly Attention[]
}

interface Attention {
  readonly code: string
  readonly severity: 'info' | 'warning' | 'error'
  readonly message: string
  readonly rule?: { readonly origin: RuleOrigin }
  readonly user_id?: number
}

const SEVERITIES: Readonly<Record<Attention['severity'], Tone>> = {
  info: 'info',
  warning: 'warn',
  error: 'bad',
}

const CIRCUITS: Readonly<Record<string, readonly [Tone, string]>> = {
  closed: ['good', 'available'],
  open: ['bad', 'circuit open'],
  half_open: ['warn', 'testing'],
}

const REFRESH_MS = 10_000

/** What needs attention, and the health of what the gateway depends on. */
export function StatusPanels() {
  const status = useResource('status', () => get<GatewayStatus>('/admin/status'))
  useInterval(REFRESH_MS, useCallback(status.reload, []))
  return (
    <ResourceView resource={status}>
      {({ attention, providers, event_log, ledger, checkpoint }) => (
        <div class="grid">
          <Panel title="Needs attention">
            {attention.length === 0 && <Empty>Nothing needs attention.</Empty>}
            <ul class="list">
              {attention.map((item) => (
                <li key={item.code + item.message}>
                  <Badge tone={SEVERITIES[item.severity]}>{humanize(item.code)}</Badge> {item.message}{' '}
                  {item.rule?.origin && (
                    <a href={href(`/policies/${item.rule.origin.id}`)}>{item.rule.origin.name}</a>
                  )}
                  {item.user_id !== undefined && <UserLink id={item.user_id} />}
                </li>
              ))}
            </ul>
          </Panel>
          <Panel title="Health">
            <ul class="list">
              {providers.map(({ provider, state, open_models, is_configured }) => {
                const [tone, text] = CIRCUITS[state] ?? ['plain', state]
                return (
                  <li key={provider} class="spread">
                    <span>{provider}</span>
                    {is_configured ? <Badge tone={tone}>{text}</Badge> : <Badge>no key</Badge>}
                    {open_models.length > 0 && <small class="muted">{open_models.join(', ')}</small>}
                  </li>
                )
              })}
              <li class="spread">
                <span>Event log, position {formatCount(event_log.position)}</span>
                <Badge tone={event_log.state === 'following' ? 'good' : 'bad'}>{event_log.state}</Badge>
              </li>
              <li class="spread">
                <span>Request ledger</span>
                <Badge tone={ledger.is_available ? 'good' : 'bad'}>
                  {ledger.is_available ? 'available' : 'unavailable'}
                </Badge>
              </li>
              <li class="spread">
                <span>Newest checkpoint</span>
                <a href={href('/audit')}>
                  {checkpoint
                    ? `${formatCount(checkpoint.size)} events, ${formatAge(checkpoint.time)}`
                    : 'none yet'}
                </a>
              </li>
            </ul>
          </Panel>
        </div>
      )}
    </ResourceView>
  )
}
