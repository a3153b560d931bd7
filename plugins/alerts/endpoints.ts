import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  Nullable,
  operator,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { NoFields, Timestamp } from '../../core/http/schemas.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import type { Alerter, OpenAlert } from './alerter.ts'
import { type AlertsState, stateOf } from './events.ts'

const optionalTime = (description: string) => Nullable(Timestamp(description), { description })

const AlertSchema = Type.Object(
  {
    name: Type.String({ description: 'Name of the alert.' }),
    when: Type.String({ description: 'The condition.' }),
    condition: Type.String({ description: 'When it fires, as a sentence.' }),
    state: StringEnum(['ok', 'firing'], { description: 'Whether the condition holds for something.' }),
    since: optionalTime('Since when it fires; null if it does not.'),
    last_sent_at: optionalTime('When anything was last sent to any target; null before.'),
    firing: Type.Array(
      Type.Object({
        subject: Type.String({ description: 'What the alert fires for.' }),
        text: Type.String({ description: 'What is wrong, as a sentence.' }),
        since: Timestamp('Since when.'),
        notified_at: Timestamp('When targets were last notified of it.'),
      }),
      { description: 'What it fires for.' },
    ),
    targets: Type.Array(
      Type.Object({
        to: Type.String({ description: 'The target, without secrets.' }),
        last_sent_at: optionalTime('When it last accepted something; null before.'),
        error: Nullable(Type.String(), {
          description: 'Why the last attempt failed; null if it succeeded or there was none.',
        }),
      }),
      { description: 'Where it is sent.' },
    ),
  },
  { $id: 'Alert', description: 'An alert of the settings, and its state.' },
)

const AlertTest = Type.Object(
  {
    results: Type.Array(
      Type.Object({
        to: Type.String({ description: 'The target, without secrets.' }),
        sent: Type.Boolean({ description: 'Whether the target accepted the test.' }),
        error: Nullable(Type.String(), { description: 'Why it did not; null if it did.' }),
      }),
      { description: 'What became of the test, by target.' },
    ),
  },
  { $id: 'AlertTest', description: 'The result of a test.' },
)

export interface AlertEndpointServices {
  readonly alerts: ReadonlyMap<string, OpenAlert>
  readonly state: () => AlertsState
  readonly alerter: Pick<Alerter, 'test'>
}

export function createAlertEndpoints({ alerts, state, alerter }: AlertEndpointServices): readonly Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/admin/alerts',
      access: operator('auditor'),
      operationId: 'listAlerts',
      summary: 'Lists the alerts of the settings, with what they fire for and when they were last sent.',
      tags: ['admin'],
      responses: {
        200: {
          description: 'The alerts.',
          body: data(Type.Array(AlertSchema, { description: 'The alerts, in the order of the settings.' })),
        },
      },
      handle: () => ({
        status: 200,
        body: { data: [...alerts.values()].map((open) => showAlert(open, state())) },
      }),
    }),
    endpoint({
      method: 'POST',
      path: '/admin/alerts/{name}/test',
      access: operator('editor'),
      params: {
        name: Type.String({ minLength: 1, description: 'Name of an alert.', examples: ['provider_down'] }),
      },
      operationId: 'testAlert',
      summary: 'Sends a test to all targets of an alert, and returns what became of it.',
      tags: ['admin'],
      body: NoFields,
      examples: { empty: {} },
      responses: { 200: { description: 'What became of the test.', body: data(AlertTest) } },
      errors: WRITE_ERRORS,
      async handle({ params: { name }, author }) {
        const open = alerts.get(name)
        if (open === undefined) throw new GatewayError('not_found', `Alert ${name} is not in the settings.`)
        const sent = await alerter.test(open, author)
        const results = sent.map(({ to, error }) => ({ to, sent: error === undefined, error: error ?? null }))
        return { status: 200, body: { data: { results } } }
      },
    }),
  ]
}

function showAlert({ alert, targets }: OpenAlert, state: AlertsState) {
  const { name, when } = alert
  const known = stateOf(state, name)
  const firing = [...known.firing].map(([subject, { text, since, notifiedAt }]) => ({
    ...{ subject, text, since },
    notified_at: notifiedAt,
  }))
  const shown = targets.map(({ label: to }) => {
    const { sentAt = null, failure } = known.targets.get(to) ?? {}
    return { to, last_sent_at: sentAt, error: failure?.error ?? null }
  })
  const [since = null] = firing.map((each) => each.since).sort()
  const [sentAt = null] = shown
    .flatMap(({ last_sent_at }) => last_sent_at ?? [])
    .sort()
    .reverse()
  return {
    ...{ name, when, condition: alert.condition.describe(alert), since, firing },
    state: firing.length > 0 ? 'firing' : 'ok',
    last_sent_at: sentAt,
    targets: shown,
  }
}
