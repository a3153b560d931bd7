import type { Finding, Notice, NoticeType } from './events.ts'

/** What a target gets. */
export interface Message {
  readonly id: string
  readonly alert: string
  readonly when: string
  readonly type: NoticeType | 'Tested'
  readonly findings: readonly Finding[]
  /** ISO 8601, UTC. */
  readonly time: string
}

const VERBS: Readonly<Record<Message['type'], { readonly type: string; readonly title: string }>> = {
  Fired: { type: 'alert.firing', title: 'fires' },
  Repeated: { type: 'alert.repeated', title: 'still fires' },
  Resolved: { type: 'alert.resolved', title: 'has ended' },
  Tested: { type: 'alert.test', title: 'test' },
}

/** Lines of a message for people. Webhooks get all findings. */
const MAX_LINES = 20

export function toMessage({ id, alert, type, findings, time }: Notice, when: string): Message {
  return { id, alert, when, type, findings, time }
}

/** The body for a webhook. */
export function formatBody({ type, alert, when, time, findings }: Message): string {
  return JSON.stringify({ type: VERBS[type].type, timestamp: time, data: { alert, when, findings } })
}

export function formatTitle({ alert, type }: Message): string {
  return `Signalbox alert ${alert}: ${VERBS[type].title}`
}

export function formatLines({ findings }: Message): readonly string[] {
  const lines = findings.slice(0, MAX_LINES).map(({ text }) => `- ${text.replaceAll(/\s+/g, ' ')}`)
  const more = findings.length - MAX_LINES
  return more > 0 ? [...lines, `- and ${more} more`] : lines
}

/** The body for Slack, in which three characters have a meaning. */
export function formatSlack(message: Message): string {
  const text = [`*${formatTitle(message)}*`, ...formatLines(message)].join('\n')
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return JSON.stringify({ text: escaped })
}
