import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { EXPORT_TARGETS } from './check-ledger-export.ts'

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

const reference = (description: string) => Type.String({ pattern: '^(env|file):.', description })

const LedgerExport = StrictObject({
  to: StringEnum(Object.keys(EXPORT_TARGETS), { description: 'The kind of the target.' }),
  name: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
      description:
        'Under which the position is stored: another name begins with the records that are written from ' +
        'then on. Lower-case letters, digits, hyphens and underscores. Default: the value of to.',
    }),
  ),
  batch_records: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100_000,
      description: 'Records that are sent at once, about. Default: 500; 20000 for s3.',
    }),
  ),
  batch_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 3600,
      description: 'How long records wait for others. Default: 1; 5 for langfuse, 300 for s3.',
    }),
  ),
  folder: text('Of file: the folder with a file per day.'),
  url: Type.Optional(
    Type.String({
      pattern: '^(https?://[^/@]+(/|$)|(env|file):.)',
      description:
        'Of webhook: the URL, or where it is (env:NAME or file:PATH). Posts are signed with ' +
        'LEDGER_EXPORT_SECRET. Of langfuse: the URL of the server. Default: https://cloud.langfuse.com.',
    }),
  ),
  brokers: Type.Optional(
    Type.Array(Type.String({ pattern: '^[^:/]+:\\d+$' }), {
      minItems: 1,
      description: 'Of kafka: brokers to begin with, each as host:port.',
    }),
  ),
  topic: text('Of kafka: the topic, which must exist.'),
  tls: Type.Optional(Type.Boolean({ description: 'Of kafka: whether connections are encrypted.' })),
  sasl: Type.Optional(
    StrictObject(
      {
        mechanism: StringEnum(['plain', 'scram-sha-256', 'scram-sha-512']),
        user: Type.String({ minLength: 1 }),
        password: reference('Where the password is: env:NAME or file:PATH.'),
      },
      { description: 'Of kafka: how to sign in.' },
    ),
  ),
  public_key: text('Of langfuse: the public key of the project.'),
  secret_key: Type.Optional(reference('Of langfuse: where the secret key is, env:NAME or file:PATH.')),
  bucket: text('Of s3: the bucket.'),
  prefix: text('Of s3: what the names of objects begin with, such as signalbox/.'),
  region: text("Of s3: the region. Default: that of AWS's environment or profile."),
  endpoint: Type.Optional(
    Type.String({
      pattern: '^https?://[^/@]+(/|$)',
      description: 'Of s3: the URL of a service that is compatible with S3.',
    }),
  ),
  path_style: Type.Optional(
    Type.Boolean({ description: 'Of s3: whether the bucket is in the path of URLs, not in their host.' }),
  ),
})

/** The setting `ledger.export` (docs/guides/ledger-export.md). */
const LedgerExportSettings = Type.Array(LedgerExport, {
  maxItems: 20,
  description: 'Where the records of requests and tool calls are sent as they are written.',
})

/** The request ledger (docs/guides/usage.md) and recorded prompts (docs/guides/prompt-recording.md). */
export const LedgerSettings = StrictObject({
  retention_days: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description: 'Days after which the record of a request is deleted.',
  }),
  usage_retention_days: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description: 'Days after which usage by hour is deleted.',
  }),
  evidence: StringEnum(['optional', 'required'], {
    description:
      'Whether requests that cannot be recorded are answered (optional) or refused with 503 (required).',
  }),
  record_prompts: StringEnum(['off', 'masked', 'full'], {
    description:
      'Whether the texts of requests are recorded: not, as the firewall left them, or as they were ' +
      'received. Requires RECORD_KEY.',
  }),
  record_replies: Type.Boolean({
    description: 'Whether replies are recorded with the texts of their requests. Requires record_prompts.',
  }),
  prompt_retention_days: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description: 'Days after which a recorded prompt is deleted, at the latest with its request.',
  }),
  max_prompt_chars: Type.Integer({
    minimum: 1000,
    maximum: 10_000_000,
    description: 'Longer prompts are not recorded. Media does not count, and is never recorded.',
  }),
  export: LedgerExportSettings,
})
