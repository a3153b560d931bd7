import { type Account, type Endpoint, endpoint, GatewayError, user } from '../../../core/contract/index.ts'
import type { Groups } from '../../../projections/groups.ts'
import type { SettingsSource } from './managed-settings.ts'
import { MAX_EXPORT_BYTES, SIGNALS, type TelemetryForwarder } from './telemetry.ts'

interface ClaudeCodeServices {
  readonly groups: Pick<Groups, 'group' | 'groupsOf'>
  /** Undefined: nobody gets settings. */
  readonly settings: SettingsSource | undefined
  readonly telemetry: TelemetryForwarder
}

const common = {
  access: user(),
  tags: ['identity'],
  errorStyle: 'anthropic',
  isUnlisted: true,
} as const

/** What Claude Code asks for besides inference (docs/guides/claude-code.md). */
export function createClaudeCodeEndpoints(services: ClaudeCodeServices): readonly Endpoint[] {
  const { groups, settings, telemetry } = services
  const describe = ({ userId, name }: Account) => ({
    name,
    groups: groups.groupsOf(userId).flatMap((id) => groups.group(id)?.name ?? []),
  })
  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/managed/settings',
      operationId: 'readManagedSettings',
      summary: 'Returns the settings of Claude Code for the groups of the user.',
      responses: { 200: { description: 'The settings.', text: 'application/json' } },
      errors: ['not_found'],
      handle({ account }) {
        const found = settings?.of(describe(account))
        if (found === undefined) throw new GatewayError('not_found', 'No policy is about this user.')
        const { checksum, settings: content } = found
        return {
          status: 200,
          headers: { etag: `"${checksum}"` },
          body: { uuid: checksum, checksum, settings: content },
        }
      },
    }),
    ...SIGNALS.map((signal) =>
      endpoint({
        ...common,
        method: 'POST',
        path: `/v1/${signal}`,
        operationId: `export${signal.charAt(0).toUpperCase()}${signal.slice(1)}`,
        summary: `Takes ${signal} of Claude Code, for the collector of the plugin tracing.`,
        rawBody: { types: ['application/x-protobuf', 'application/json'], maxBytes: MAX_EXPORT_BYTES },
        responses: { 200: { description: 'Taken.' } },
        handle({ body, headers }) {
          const type = headers['content-type'] ?? 'application/x-protobuf'
          if (Buffer.isBuffer(body)) telemetry.forward(signal, body, type)
          return { status: 200, headers: { 'content-type': type }, body: '' }
        },
      }),
    ),
  ]
}
