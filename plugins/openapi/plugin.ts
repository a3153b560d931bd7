import {
  definePlugin,
  endpoint,
  type Host,
  publicAccess,
  settingsOf,
  Type,
} from '../../core/contract/index.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { buildOpenApiDocument, type DocumentInfo } from './document.ts'

/** Serves `GET /openapi.json`, which describes all endpoints by the schemas that validate their requests. */
export default definePlugin({
  name: 'openapi',
  uses: {
    process: ProcessServices,
    host: settingsOf<string>('host'),
    port: settingsOf<number>('route_port'),
  },
  setup: (_, host) => ({
    endpoints: [
      createDocumentEndpoint(
        { version: host.use.process.version, direct: { host: host.use.host, port: host.use.port } },
        host,
      ),
    ],
  }),
})

function createDocumentEndpoint(info: DocumentInfo, host: Pick<Host, 'api'>) {
  let document: { readonly endpoints: number; readonly text: string } | undefined
  return endpoint({
    method: 'GET',
    path: '/openapi.json',
    access: publicAccess,
    operationId: 'readDocument',
    summary: 'Returns this document.',
    tags: ['operation'],
    responses: {
      200: {
        description: 'The OpenAPI document.',
        body: Type.Object({}, { $id: 'OpenApiDocument', description: 'An OpenAPI 3.1 document.' }),
      },
    },
    handle() {
      const api = host.api()
      // With the first operator, there are more endpoints.
      if (document?.endpoints !== api.endpoints.length)
        document = { endpoints: api.endpoints.length, text: JSON.stringify(buildOpenApiDocument(api, info)) }
      const headers = { 'content-type': 'application/json; charset=utf-8' }
      return { status: 200, headers, body: document.text }
    },
  })
}
