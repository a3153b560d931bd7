import type { Plugin } from '../../core/contract/index.ts'
import { buildOpenApiDocument, type DocumentParts } from './document.ts'

/** `GET /openapi.json`: every endpoint, described by the schemas that its requests are checked with. */
export function createOpenApi(parts: Omit<DocumentParts, 'paths'>): Plugin {
  return {
    name: 'openapi',
    setup(_, host) {
      let document: string | undefined
      return {
        publicRoutes(router) {
          router.get('/openapi.json', async (ctx) => {
            document ??= JSON.stringify(buildOpenApiDocument({ ...parts, paths: host.openapi() }))
            ctx.type = 'application/json'
            ctx.body = document
          })
        },
      }
    },
  }
}
