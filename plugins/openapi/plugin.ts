import type { Plugin } from '../../core/contract/index.ts'
import { buildOpenApiDocument, type DocumentParts } from './document.ts'

/** Serves `GET /openapi.json`, built from the schemas that validate the requests. */
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
