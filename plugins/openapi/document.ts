import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { type RuleField, ruleBodySchema } from '../rules/rule-kind.ts'
import { adminSchemas, documentPaths, probePaths } from './admin.ts'
import { auditSchemas } from './audit.ts'
import { errorSchemas } from './builders.ts'
import { inferencePaths, inferenceSchemas, modelsSchemas, requestsSchemas, routePaths } from './inference.ts'
import { responsesSchemas } from './responses.ts'
import { batchSchemas, ruleSchemas } from './rules.ts'

/** The variable parts of the document. */
export interface DocumentParts {
  readonly version: string
  /** The writable fields of rules by kind. */
  readonly fields: { readonly routing: readonly RuleField[]; readonly firewall: readonly RuleField[] }
  /** The path items of plugins. */
  readonly paths: readonly JsonObject[]
  /** The default address of `POST /route`. */
  readonly direct: { readonly host: string; readonly port: number }
}

/** Builds the OpenAPI 3.1 document. */
export function buildOpenApiDocument({ version, fields, paths, direct }: DocumentParts): JsonObject {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signalbox',
      version,
      description: 'A model routing gateway. Requests that fail with status 500 or above can be retried.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths: mergePaths([
      inferencePaths,
      withDirectRoutingServer(routePaths, direct),
      ...paths,
      documentPaths,
      probePaths,
    ]),
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'API key of a user.' },
        adminKey: { type: 'http', scheme: 'bearer', description: 'The ADMIN_KEY of the gateway.' },
      },
      schemas: {
        ...inferenceSchemas,
        ...responsesSchemas,
        ...ruleSchemas,
        ...batchSchemas,
        RoutingRuleInput: ruleBodySchema(fields.routing, true),
        RoutingRuleChange: ruleBodySchema(fields.routing, false),
        FirewallRuleInput: ruleBodySchema(fields.firewall, true),
        FirewallRuleChange: ruleBodySchema(fields.firewall, false),
        ...auditSchemas,
        ...modelsSchemas,
        ...requestsSchemas,
        ...adminSchemas,
        ...errorSchemas,
      },
    },
  }
}

/** Direct routing has a separate, configurable address. */
function withDirectRoutingServer(paths: JsonObject, { host, port }: DocumentParts['direct']): JsonObject {
  const variables = { host: { default: host }, port: { default: String(port) } }
  const servers = [{ url: 'http://{host}:{port}', variables }]
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [path, { ...asObject(item), servers }]),
  )
}

/** Merges path items: several plugins can serve different methods of one path. */
function mergePaths(all: readonly JsonObject[]): JsonObject {
  const merged: Record<string, JsonObject> = {}
  for (const [path, item] of all.flatMap(Object.entries))
    merged[path] = { ...merged[path], ...asObject(item) }
  return merged
}

function asObject(item: unknown): JsonObject {
  return isJsonObject(item) ? item : {}
}
