import { Nullable, type Static, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { FORM_SETTINGS } from '../../core/dialects/response-form.ts'
import { AlertSettings, SmtpSettings } from './alert-schema.ts'
import { CAPABILITY_PRESETS } from './capability-presets.ts'
import { IdentitySettings } from './identity-schema.ts'
import { LedgerSettings } from './ledger-schema.ts'
import { McpSettings } from './mcp-schema.ts'
import { ModelRowSchema, ProviderId } from './model-schema.ts'
import { PluginChanges, PluginListEntry } from './plugin-list-schema.ts'
import { ProviderRow } from './provider-schema.ts'
import { RateLimitSettings } from './rate-limit-schema.ts'
import { Milliseconds, Port } from './schema-types.ts'
import { TimeoutSettings } from './timeout-schema.ts'

/** The setting `audit`. */
const AuditSettings = StrictObject({
  require_reason: Type.Boolean({
    description:
      'Whether changes by operators and commands are refused without a reason, in the header ' +
      'x-change-reason or the option --reason.',
  }),
  export: Type.Optional(
    Nullable(
      StrictObject(
        {
          webhook_url: Type.Optional(
            Type.String({
              pattern: '^https?://',
              description: 'URL that batches are posted to, signed with AUDIT_EXPORT_SECRET.',
            }),
          ),
          folder: Type.Optional(
            Type.String({ minLength: 1, description: 'Folder with a file of JSON lines per day.' }),
          ),
        },
        { minProperties: 1, maxProperties: 1 },
      ),
      { description: 'Where every entry of the audit trail is sent: a webhook or a folder.' },
    ),
  ),
})

/** A setting that an environment variable should have. */
const Secret = (options: { readonly minLength: number; readonly description: string }) =>
  Type.Optional(Nullable(Type.String(options)))

/** Learned routing (docs/guides/learned-routing.md). */
const RoutingSettings = StrictObject({
  learned: StringEnum(['off', 'shadow', 'on'], {
    description:
      'Whether features of prompts are kept and the active version of the router is evaluated (shadow), ' +
      'and decides about the quality of models as well (on).',
  }),
  explore: Type.Number({
    minimum: 0,
    maximum: 0.2,
    description:
      'The share of automatic choices that are drawn from all models within the price cap of the mode, so ' +
      'that versions can be judged. Requires learned: on.',
  }),
  activate: StringEnum(['manual', 'when_better', 'when_better_on_known_kinds'], {
    description:
      'Whether operators activate versions, or a new version is activated if its interval is above the ' +
      'baselines and it is not below them on kinds of prompts that it has not seen (when_better), or only ' +
      'if its interval is above them (when_better_on_known_kinds).',
  }),
  train_every_hours: Type.Integer({
    minimum: 0,
    maximum: 8760,
    description: 'Hours after which a new version is trained for everyone. 0: only on demand.',
  }),
  train_days: Type.Integer({
    minimum: 1,
    maximum: 3650,
    description: 'Ratings of this many days are trained from.',
  }),
  min_ratings: Type.Integer({
    minimum: 20,
    maximum: 1_000_000,
    description: 'Ratings below which no version is trained.',
  }),
  min_model_ratings: Type.Integer({
    minimum: 20,
    maximum: 1_000_000,
    description: 'Ratings of a model below which its constant of the catalogue counts.',
  }),
  sticky: StrictObject(
    {
      seconds: Type.Integer({
        minimum: 0,
        maximum: 86_400,
        description:
          'Seconds after a reply for which a conversation stays with its model and deployment, while ' +
          'that is cheaper than the best model because the prompt is cached. 0: off.',
      }),
    },
    { description: 'Choices that stay with a conversation (docs/guides/prompt-caches.md).' },
  ),
})

// The schema of a settings file. `npm run generate` writes it to config/schema.json, which the gateway
// validates with and editors read. At run time only the types of this file are used.

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const Weight = Type.Number({ exclusiveMinimum: 0 })
const ModeWeightsSchema = StrictObject({ cost: Weight, quality: Weight, latency: Weight })

export const SettingsSchema = Type.Object(
  {
    host: Type.String({ minLength: 1, description: 'Address to listen on. Environment: HOST.' }),
    workers: Type.Integer({
      minimum: 1,
      maximum: 128,
      description: 'Number of serving processes behind the same ports. Environment: WORKERS.',
    }),
    port: Port('Port of the main address; 0 selects a free port. Environment: PORT.'),
    route_port: Port('Port of the direct routing address; 0 selects a free port. Environment: ROUTE_PORT.'),
    data_dir: Type.String({
      minLength: 1,
      description:
        'Folder of the embedded event log and of snapshots, relative to the working directory. ' +
        'Environment: DATA_DIR.',
    }),
    eventstore_url: Type.Optional(
      Nullable(
        Type.String({
          pattern: '^(esdb|kurrentdb)(\\+discover)?://',
          description:
            'Connection string of EventStoreDB or KurrentDB, which replaces the embedded event log. ' +
            'Prefer the environment variable EVENTSTORE_URL if it contains a password.',
        }),
      ),
    ),
    redis_url: Type.Optional(
      Nullable(
        Type.String({
          pattern: '^rediss?://',
          description:
            'Redis that counts requests for several machines; without it, each machine counts ' +
            'separately. Prefer the environment variable REDIS_URL if it contains a password.',
        }),
      ),
    ),
    ledger_url: Type.Optional(
      Nullable(
        Type.String({
          pattern: '^postgres(ql)?://',
          description:
            'PostgreSQL that keeps the request ledger and the stored responses of several machines; ' +
            'without it, ledger.db in data_dir does. Prefer the environment variable LEDGER_URL if it ' +
            'contains a password.',
        }),
      ),
    ),
    metrics_port: Type.Optional(
      Nullable(
        Port(
          'Separate port of /metrics, without authentication: keep it private; 0 selects a free port. ' +
            'Without it, /metrics is on the main address and requires the admin key. Environment: ' +
            'METRICS_PORT.',
        ),
      ),
    ),
    admin_key: Secret({
      minLength: 16,
      description:
        'Bearer token of /admin/*; without it, these endpoints are disabled. Prefer the environment ' +
        'variable ADMIN_KEY.',
    }),
    guardrail_secret: Secret({
      minLength: 1,
      description:
        'Secret that the plugin guardrail-webhook sends. Prefer the environment variable ' +
        'GUARDRAIL_SECRET.',
    }),
    audit_export_secret: Secret({
      minLength: 16,
      description:
        'Secret that signs exports of the audit trail to a webhook. Prefer the environment variable ' +
        'AUDIT_EXPORT_SECRET.',
    }),
    approval_secret: Secret({
      minLength: 16,
      description:
        'Secret that signs what the plugin approvals posts. Prefer the environment variable ' +
        'APPROVAL_SECRET.',
    }),
    alert_secret: Secret({
      minLength: 16,
      description:
        'Secret that signs what alerts post to webhooks. Prefer the environment variable ALERT_SECRET.',
    }),
    ledger_export_secret: Secret({
      minLength: 16,
      description:
        'Secret that signs what ledger.export posts to webhooks. Prefer the environment variable ' +
        'LEDGER_EXPORT_SECRET.',
    }),
    smtp_password: Secret({
      minLength: 1,
      description: 'Password of smtp.user. Prefer the environment variable SMTP_PASSWORD.',
    }),
    oidc_client_secret: Secret({
      minLength: 1,
      description:
        'Secret of identity.console.client_id. Prefer the environment variable OIDC_CLIENT_SECRET.',
    }),
    record_key: Secret({
      minLength: 1,
      description:
        'Key that recorded prompts are encrypted with, or several as id:key,id:key, of which the first ' +
        'encrypts. Prefer the environment variable RECORD_KEY.',
    }),
    features_key: Secret({
      minLength: 16,
      description:
        'Secret that the words of prompts are hashed with for learned routing. Without it, it is a ' +
        'file in data_dir/keys. Several machines need the same one. Prefer the environment variable ' +
        'FEATURES_KEY.',
    }),
    log_level: StringEnum(LOG_LEVELS, {
      description: 'Lowest level that is logged. Environment: LOG_LEVEL.',
    }),
    plugins: Type.Union([Type.Array(PluginListEntry, { minItems: 1 }), PluginChanges], {
      description:
        'The plugins that every request passes through, in running order: built-in names, npm packages, ' +
        'or paths relative to the working directory. Or the changes to the shipped list.',
    }),
    capabilities: StringEnum(CAPABILITY_PRESETS, {
      description:
        'Shipped capabilities of the providers: default, as their APIs are, or interface, the narrower ' +
        'table of the published interface. Rows under providers override them.',
    }),
    providers: Type.Record(Type.String(), ProviderRow, {
      minProperties: 1,
      propertyNames: ProviderId,
      description: 'Providers by id. Environment: <ID>_API_KEY and <ID>_BASE_URL.',
    }),
    models: Type.Array(ModelRowSchema, { description: 'Rows that replace or extend those of models.yaml.' }),
    price_list: Type.String({
      minLength: 1,
      description:
        'Address or file of a list of prices, as for "signalbox models check". Only read when an operator ' +
        'compares the catalogue with it.',
    }),
    model_aliases: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      propertyNames: { pattern: '^[!-~]+$' },
      description: 'Other names of models (gpt-4o, openai/gpt-4o) and of routing modes (auto:cost).',
    }),
    modes: StrictObject(
      {
        balance: ModeWeightsSchema,
        cost: ModeWeightsSchema,
        quality: ModeWeightsSchema,
        latency: ModeWeightsSchema,
      },
      { description: 'Weights of cost, quality and latency in each routing mode. Only their ratio matters.' },
    ),
    routing: RoutingSettings,
    timeouts: TimeoutSettings,
    failover: StrictObject(
      {
        on_timeout: Type.Boolean({
          description:
            'Whether a request is sent again, or to another provider, after a timeout or a connection that ' +
            'broke: the provider may execute and bill it twice. The request header x-retry-on-timeout ' +
            'overrides this.',
        }),
      },
      { description: 'When a request is sent again.' },
    ),
    breaker: StrictObject(
      {
        min_requests: Type.Integer({
          minimum: 1,
          description: 'Requests within window_ms below which a circuit stays closed.',
        }),
        failure_ratio: Type.Number({
          exclusiveMinimum: 0,
          maximum: 1,
          description: 'The share of failed requests that opens a circuit.',
        }),
        min_callers: Type.Integer({
          minimum: 1,
          description: 'Callers whose requests must fail to open the circuit for everybody.',
        }),
        window_ms: Milliseconds('The period in which requests are counted.'),
        open_ms: Milliseconds(
          'How long the circuit stays open at first. Doubles up to twelve times this while the model ' +
            'keeps failing.',
        ),
      },
      {
        description:
          'The circuit breakers of each model and tool server: one per caller, and one for everybody.',
      },
    ),
    snapshots: StrictObject({
      every_events: Type.Integer({
        minimum: 1,
        description: 'A snapshot is taken after this many events, and when the process stops.',
      }),
    }),
    responses: StrictObject({
      retention_days: Type.Number({
        exclusiveMinimum: 0,
        maximum: 36_500,
        description: 'Days after which a stored response is deleted; fractions are allowed.',
      }),
      form: StringEnum(FORM_SETTINGS, {
        description:
          "The form of answers: OpenAI's, the interface's, or by the client. A request's header " +
          'x-response-form takes precedence.',
      }),
    }),
    firewall: StrictObject({
      evaluate_responses: Type.Boolean({
        description: 'Whether firewall rules with the scope response inspect the replies of models.',
      }),
    }),
    tool_rules: StrictObject({
      in_replies: StringEnum(['refuse', 'remove', 'off'], {
        description:
          'What tool rules do with a call in a reply of a model that they do not let pass: the reply ends ' +
          'with an error, the call is removed, or nothing.',
      }),
      approvals: StringEnum(['ask', 'pass'], {
        description:
          'Whether a call in a reply whose rule requires an approval asks for one, or passes, because the ' +
          'tool is called at /mcp, which asks itself.',
      }),
      hide_definitions: Type.Boolean({
        description: 'Whether tools of which no call can pass are left out of requests to models.',
      }),
    }),
    audit: AuditSettings,
    alerts: AlertSettings,
    smtp: Type.Optional(SmtpSettings),
    identity: Type.Optional(IdentitySettings),
    mcp: McpSettings,
    ledger: LedgerSettings,
    rate_limits: RateLimitSettings,
    limits: StrictObject({
      body_bytes: Type.Integer({ minimum: 1024, description: 'Maximum size of a request body.' }),
      bodies_bytes: Type.Optional(
        Type.Integer({
          minimum: 1024,
          description:
            'Bodies of all requests in flight in one process. Default: an eighth of its heap limit, at ' +
            'least two bodies of the maximum size.',
        }),
      ),
      user_bodies_bytes: Type.Optional(
        Type.Integer({
          minimum: 1024,
          description:
            'Bodies of the requests of one user in flight in one process. Default: half of those of all, ' +
            'at least one body of the maximum size.',
        }),
      ),
      header_bytes: Type.Integer({
        minimum: 1024,
        maximum: 1_048_576,
        description: 'Maximum size of the request line and the headers of a request.',
      }),
      headers: Type.Integer({
        minimum: 10,
        maximum: 2000,
        description: 'Maximum number of headers of a request.',
      }),
      connections: Nullable(
        Type.Integer({
          minimum: 1,
          description:
            'Maximum number of open client connections per process and address; more are dropped. null ' +
            'disables it.',
        }),
      ),
      auth_failures_per_minute: Nullable(
        Type.Integer({
          minimum: 1,
          description:
            'Invalid keys that a client address may send per minute before it gets 429. null disables ' +
            'the limit.',
        }),
      ),
    }),
    trusted_proxies: Type.Array(Type.String(), {
      description:
        'Addresses and networks (10.0.0.0/8) of reverse proxies. x-forwarded-for is trusted only in ' +
        'requests from these.',
    }),
    cors: StrictObject(
      {
        origins: Type.Array(Type.String(), {
          description: 'Origins such as https://app.example.com, without a path; * allows every origin.',
        }),
      },
      { description: 'Web pages that may call the API from a browser.' },
    ),
    hsts_seconds: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 0,
          description:
            'Adds strict-transport-security with this max-age to every response, for a gateway that is ' +
            'reachable only by TLS. null adds nothing.',
        }),
      ),
    ),
  },
  {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Signalbox settings',
    additionalProperties: false,
  },
)

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T

/** The settings as written in a file, merged with the defaults. */
export type SettingsDocument = DeepReadonly<Static<typeof SettingsSchema>>
