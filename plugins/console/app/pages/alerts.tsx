import { useState } from 'preact/hooks'
import { get, orElse, post } from '../lib/api.ts'
import { useAction, useInterval, useResource } from '../lib/data.ts'
import type { Alert, AlertTest } from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { ErrorMessage, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { Badge, Stat, Time } from '../ui/values.tsx'

const REFRESH_MS = 5000

/** The alerts of the settings: what they fire for, and whether their targets accept what is sent. */
export function AlertsPage() {
  // Without alerts, there is no such endpoint.
  const alerts = useResource('alerts', () => get<readonly Alert[]>('/admin/alerts').catch(orElse([])))
  useInterval(REFRESH_MS, alerts.reload)
  return (
    <PageLayout title="Alerts">
      <ResourceView resource={alerts}>
        {(list) =>
          list.length === 0 ? <FirstAlert /> : <AlertList alerts={list} onTested={alerts.reload} />
        }
      </ResourceView>
    </PageLayout>
  )
}

const EXAMPLE = `alerts:
  - when: provider_down
    to: [{ slack: 'env:SLACK_URL' }]
  - { name: keys, when: key_expiring, within_days: 14, to: [{ email: ops@example.com }] }
smtp: { host: mail.example.com, user: signalbox, from: 'Signalbox <signalbox@example.com>' }`

/** Says how to configure an alert. */
function FirstAlert() {
  return (
    <Panel title="No alerts are configured">
      <p>
        The gateway can tell a webhook, Slack or people by mail when something needs attention: budgets that
        are nearly spent, requests that are blocked or fail, providers and tool servers that are down, keys
        that expire, approvals that wait. Add alerts to the settings file, and restart the gateway:
      </p>
      <pre>{EXAMPLE}</pre>
      <p>
        Set <code>SLACK_URL</code> and <code>SMTP_PASSWORD</code> in the environment. All conditions and
        targets are in <code>docs/guides/alerts.md</code>.
      </p>
    </Panel>
  )
}

interface AlertListProps {
  readonly alerts: readonly Alert[]
  readonly onTested: () => void
}

/** What fires comes first. */
function AlertList({ alerts, onTested }: AlertListProps) {
  const firing = alerts.filter(({ state }) => state === 'firing')
  const others = alerts.filter(({ state }) => state !== 'firing')
  const targets = alerts.flatMap((alert) => alert.targets)
  const failing = targets.filter(({ error }) => error !== null)
  return (
    <>
      <dl class="stats">
        <Stat label="Firing" value={firing.length} note={`of ${alerts.length}`} />
        <Stat label="Targets that failed last" value={failing.length} note={`of ${targets.length}`} />
      </dl>
      {[...firing, ...others].map((alert) => (
        <AlertPanel key={alert.name} alert={alert} onTested={onTested} />
      ))}
    </>
  )
}

interface AlertPanelProps {
  readonly alert: Alert
  readonly onTested: () => void
}

function AlertPanel({ alert, onTested }: AlertPanelProps) {
  const { name, condition, since, last_sent_at: sentAt, firing, targets } = alert
  const [tested, setTested] = useState<AlertTest['results']>()
  const test = useAction(async () => {
    setTested(undefined)
    setTested((await post<AlertTest>(`/admin/alerts/${name}/test`, {})).results)
    onTested()
  })
  const actions = hasRole('editor') && (
    <button type="button" disabled={test.isBusy} onClick={() => test.start()}>
      {test.isBusy ? 'Sending…' : 'Send a test'}
    </button>
  )
  return (
    <Panel title={name} actions={actions}>
      <p>{condition}</p>
      <p>
        {since === null ? (
          <Badge tone="good">ok</Badge>
        ) : (
          <>
            <Badge tone="bad">firing</Badge> since <Time value={since} />
          </>
        )}{' '}
        <span class="muted">
          ·{' '}
          {sentAt === null ? (
            'nothing was sent yet'
          ) : (
            <>
              last sent <Time value={sentAt} relative />
            </>
          )}
        </span>
      </p>
      {firing.length > 0 && (
        <>
          <h3>Fires for</h3>
          <ul class="list">
            {firing.map(({ subject, text, since }) => (
              <li key={subject} class="spread">
                <span>{text}</span>
                <small class="muted">
                  <Time value={since} relative />
                </small>
              </li>
            ))}
          </ul>
        </>
      )}
      <div role="status">{tested && <TestedTargets results={tested} />}</div>
      {test.error && <ErrorMessage error={test.error} retry={() => test.start()} />}
      <h3>Targets</h3>
      <ul class="list">
        {targets.map((target) => (
          <TargetLine key={target.to} {...target} />
        ))}
      </ul>
    </Panel>
  )
}

function TestedTargets({ results }: AlertTest) {
  const sent = results.filter((result) => result.sent).length
  return (
    <div class={`notice ${sent < results.length ? 'warn' : ''}`}>
      <p>
        {sent} of {results.length} {results.length === 1 ? 'target' : 'targets'} accepted the test.
      </p>
      <ul>
        {results.map(({ to, error }) => (
          <li key={to}>
            {to}: {error ?? 'accepted'}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** A target, and whether it accepted what was last sent to it. */
function TargetLine({ to, error, last_sent_at: sentAt }: Alert['targets'][number]) {
  const [kind, ...address] = to.split(' ')
  return (
    <li>
      <div class="spread">
        <span>
          {kind} <code>{address.join(' ')}</code>
        </span>
        <span>
          {sentAt !== null && (
            <small class="muted">
              last accepted <Time value={sentAt} relative />{' '}
            </small>
          )}
          {error !== null && <Badge tone="bad">failed</Badge>}
          {error === null && sentAt !== null && <Badge tone="good">accepted</Badge>}
          {error === null && sentAt === null && <Badge>not used yet</Badge>}
        </span>
      </div>
      {error !== null && <small class="issue block">{error}</small>}
    </li>
  )
}
