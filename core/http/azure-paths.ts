import type { GatewayMiddleware } from '../contract/index.ts'

/** Paths of Azure OpenAI: of a deployment, of its newer API, and of its older one without a deployment. */
const DEPLOYMENT =
  /^\/openai\/deployments\/([^/]+)(\/(?:chat\/completions|completions|embeddings|responses))$/
const RESOURCE =
  /^\/openai(?:\/v1)?(\/(?:(?:chat\/)?completions|embeddings|moderations|(?:responses|models)(?:\/.*)?))$/

/**
 * Serves requests to paths of Azure OpenAI as those to OpenAI's: `/openai/deployments/gpt-4o/embeddings` is
 * `/v1/embeddings` with the model `gpt-4o`. It happens before anything looks at the path, so that the same
 * rules, restrictions and limits apply. The query parameter `api-version` has no meaning here. See
 * docs/decisions/http.md, "Paths of Azure OpenAI are rewritten before anything looks at them".
 */
export const rewriteAzurePath: GatewayMiddleware = (ctx, next) => {
  if (!ctx.path.startsWith('/openai/')) return next()
  const [, deployment, path] = DEPLOYMENT.exec(ctx.path) ?? [
    undefined,
    undefined,
    RESOURCE.exec(ctx.path)?.[1],
  ]
  const model = deployment === undefined ? undefined : decode(deployment)
  if (path === undefined || (deployment !== undefined && model === undefined)) return next()
  if (model !== undefined) ctx.deployment = model
  ctx.path = `/v1${path}`
  const query = new URLSearchParams(ctx.querystring)
  query.delete('api-version')
  ctx.querystring = query.toString()
  return next()
}

/** Undefined for a malformed encoding. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
