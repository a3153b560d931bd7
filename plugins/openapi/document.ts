import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { type RuleField, ruleBodySchema } from '../rules/rule-kind.ts'
import { adminSchemas } from './admin.ts'
import { auditSchemas } from './audit.ts'
import { batchSchemas } from './batch.ts'
import { errorSchemas } from './errors.ts'
import { inferencePaths, inferenceSchemas, routePaths } from './inference.ts'
import { modelsSchemas } from './models.ts'
import { documentPaths, probePaths } from './probes.ts'
import { requestsSchemas } from './requests.ts'
import { responsesSchemas } from './responses.ts'
import { ruleSchemas } from './rules.ts'

/** What the document is made from, besides what is always served. */
export interface DocumentParts {
  readonly version: string
  /** What owners of rules set, by kind. */
  readonly fields: { readonly routing: readonly RuleField[]; readonly firewall: readonly RuleField[] }
  /** How plugins describe their endpoints. */
  readonly paths: readonly JsonObject[]
  /** Where `POST /route` is expected. */
  readonly direct: { readonly host: string; readonly port: number }
}

/** The whole OpenAPI 3.1 document. */
export function createDocument({ version, fields, paths, direct }: DocumentParts): JsonObject {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signalbox',
      version,
      description: 'A model routing gateway. Errors with status 500 and above are worth another try.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths: mergePaths([inferencePaths, atDirectAddress(direct), ...paths, documentPaths, probePaths]),
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'The API key of a user.' },
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

/** Direct routing has an address of its own; operators may move it. */
function atDirectAddress({ host, port }: DocumentParts['direct']): JsonObject {
  const variables = { host: { default: host }, port: { default: String(port) } }
  const servers = [{ url: 'http://{host}:{port}', variables }]
  return Object.fromEntries(
    Object.entries(routePaths).map(([path, item]) => [path, { ...asObject(item), servers }]),
  )
}

/** One path may be served by several plugins, each with methods of its own. */
function mergePaths(all: readonly JsonObject[]): JsonObject {
  const merged: Record<string, JsonObject> = {}
  for (const [path, item] of all.flatMap(Object.entries))
    merged[path] = { ...merged[path], ...asObject(item) }
  return merged
}

function asObject(item: unknown): JsonObject {
  return isJsonObject(item) ? item : {}
}
