import { endpoint, type Host, type Plugin, publicAccess, Type } from '../../core/contract/index.ts'
import { buildOpenApiDocument, type DocumentInfo } from './document.ts'

/** Serves `GET /openapi.json`, which describes all endpoints by the schemas that validate their requests. */
export function createOpenApi(info: DocumentInfo): Plugin {
  return {
    name: 'openapi',
    setup: (_, host) => ({ endpoints: [createDocumentEndpoint(info, host)] }),
  }
}

function createDocumentEndpoint(info: DocumentInfo, host: Host) {
  let document: string | undefined
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
      document ??= JSON.stringify(buildOpenApiDocument(host.api(), info))
      return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: document }
    },
  })
}
