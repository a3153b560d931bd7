import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { ALERT_CONDITIONS } from './check-alerts.ts'

const AlertTarget = StrictObject(
  {
    webhook: Type.Optional(
      Type.String({
        pattern: '^(https?://[^/@]+(/|$)|(env|file):.)',
        description: 'URL, or where it is (env:NAME or file:PATH). Posts are signed with ALERT_SECRET.',
      }),
    ),
    slack: Type.Optional(
      Type.String({
        pattern: '^(env|file):.',
        description:
          "Where the URL of an incoming webhook of Slack is: env:NAME or file:PATH. Services with Slack's " +
          'format work, too.',
      }),
    ),
    email: Type.Optional(
      Type.String({
        pattern: '^[^\\s@,;<>"]+@[^\\s@,;<>"]+$',
        description: 'An address, to which mail is sent by the server of the setting smtp.',
      }),
    ),
  },
  { minProperties: 1, maxProperties: 1 },
)

const Alert = StrictObject({
  name: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
      description: 'Lower-case letters, digits, hyphens and underscores. Default: the value of when.',
    }),
  ),
  when: StringEnum(Object.keys(ALERT_CONDITIONS), { description: 'The condition.' }),
  at_least: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      description:
        'The share from which on the alert fires: of a budget (default 0.8), of requests that are blocked ' +
        '(0.2) or fail (0.1); the number of approvals_pending (1).',
    }),
  ),
  over_seconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 1800,
      description: 'The time in which blocked_rate and error_rate count requests. Default: 300.',
    }),
  ),
  min_requests: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Requests below which blocked_rate and error_rate do not fire. Default: 20.',
    }),
  ),
  within_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 365,
      description: 'Days before the expiry of a key on which key_expiring fires. Default: 7.',
    }),
  ),
  repeat_after_seconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 2_592_000,
      description:
        'Time after which an alert that still fires is sent again. Default: 14400; a day for ' +
        'budget_share and key_expiring.',
    }),
  ),
  resolve_after_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: 'Time for which the condition must not hold before the alert ends. Default: 60.',
    }),
  ),
  to: Type.Array(AlertTarget, { minItems: 1, maxItems: 10, description: 'Where it is sent.' }),
})

/** The setting `alerts` (docs/guides/alerts.md). */
export const AlertSettings = Type.Array(Alert, {
  maxItems: 100,
  description: 'What is sent to webhooks, Slack and addresses when something needs attention.',
})

/** The setting `smtp`. */
export const SmtpSettings = StrictObject(
  {
    host: Type.String({ minLength: 1 }),
    port: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65_535, description: 'Default: 465 with tls, else 587.' }),
    ),
    security: Type.Optional(
      StringEnum(['starttls', 'tls', 'none'], {
        description:
          'How the connection is encrypted: starttls (the default) requires that the server offers it, tls ' +
          'encrypts from the start. none is for servers of this machine or network.',
      }),
    ),
    user: Type.Optional(
      Type.String({ minLength: 1, description: 'Signs in with the password of SMTP_PASSWORD.' }),
    ),
    from: Type.String({ pattern: '@', description: 'The sender: an address, or Name <address>.' }),
  },
  { description: 'The server that sends mail of alerts.' },
)
