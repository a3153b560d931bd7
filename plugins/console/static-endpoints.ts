import {
  type Endpoint,
  type EndpointResponse,
  endpoint,
  errorsOf,
  GatewayError,
  publicAccess,
  Type,
} from '../../core/contract/index.ts'
import { readStaticFiles, type StaticFiles } from './static-files.ts'

export const STATIC_ERROR_CODES = {
  console_not_built: {
    ...{ status: 503, type: 'service_unavailable_error' },
    description: 'The files of the console are missing: it was not built.',
  },
} as const

/** Nothing inline, nothing from elsewhere, and no frame around it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ')

const common = { method: 'GET', access: publicAccess, tags: ['console'], isUnlisted: true } as const

/** Creates the endpoints of the console's files. They are read when the first of them is asked for. */
export function createStaticEndpoints(folder: string): readonly Endpoint[] {
  let files: StaticFiles | undefined

  function send(name: string, acceptsGzip: boolean, caching: string): EndpointResponse {
    files ??= readStaticFiles(folder)
    if (files === undefined) throw notBuiltError()
    const file = files.get(name)
    if (file === undefined) throw new GatewayError('not_found', `The console has no file ${name}.`)
    const headers = {
      'content-type': file.type,
      'cache-control': caching,
      'content-security-policy': CONTENT_SECURITY_POLICY,
      vary: 'Accept-Encoding',
    }
    if (!acceptsGzip) return { status: 200, headers, body: file.content }
    return { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: file.gzipped }
  }

  const acceptsGzip = (header: string | string[] | undefined) => /\bgzip\b/.test(String(header ?? ''))

  return [
    endpoint({
      ...common,
      path: '/console',
      operationId: 'redirectToConsole',
      summary: 'Redirects to the console, whose links are relative.',
      responses: {
        308: {
          description: 'The console is at console/.',
          text: 'text/plain',
          headers: { location: Type.String({ description: 'The path, relative to the requested one.' }) },
        },
      },
      handle: () => redirectToConsole(308),
    }),
    endpoint({
      ...common,
      path: '/console/',
      operationId: 'readConsole',
      summary: 'Returns the page of the console.',
      responses: { 200: { description: 'The page.', text: 'text/html' } },
      errors: ['console_not_built'],
      handle: ({ headers }) => send('index.html', acceptsGzip(headers['accept-encoding']), 'no-cache'),
    }),
    endpoint({
      ...common,
      path: '/console/assets/{file}',
      operationId: 'readConsoleFile',
      summary: 'Returns a script, style sheet or image of the console.',
      params: {
        file: Type.String({
          minLength: 1,
          description: 'Name of the file, which contains a hash of its content.',
          examples: ['index-DHcut1yJ.css'],
        }),
      },
      responses: {
        200: { description: 'The file.', text: ['text/javascript', 'text/css', 'image/svg+xml'] },
      },
      errors: ['console_not_built'],
      handle: ({ params, headers }) =>
        send(`assets/${params.file}`, acceptsGzip(headers['accept-encoding']), IMMUTABLE),
    }),
    endpoint({
      ...common,
      path: '/',
      operationId: 'readStart',
      summary: 'Redirects browsers to the console, and tells programs where things are.',
      responses: {
        200: { description: 'For programs: addresses relative to this one.', body: Start },
        302: {
          description: 'For browsers: the console is at console/.',
          text: 'text/plain',
          headers: { location: Type.String({ description: 'The path, relative to the requested one.' }) },
        },
      },
      handle: ({ headers }) =>
        acceptsHtml(headers.accept)
          ? redirectToConsole(302, { vary: 'Accept' })
          : { status: 200, headers: { vary: 'Accept' }, body: START },
    }),
  ]
}

const START = { name: 'signalbox', console: 'console/', openapi: 'openapi.json', health: 'healthz' } as const

const Start = Type.Object({
  name: Type.Literal(START.name, { description: 'Always signalbox.' }),
  console: Type.String({ description: 'Where the console is.' }),
  openapi: Type.String({ description: 'Where the description of all endpoints is.' }),
  health: Type.String({ description: 'Where the process says that it runs.' }),
})

function redirectToConsole(status: number, headers?: EndpointResponse['headers']): EndpointResponse {
  return {
    status,
    headers: { ...headers, location: 'console/', 'content-type': 'text/plain' },
    body: 'The console is at console/.',
  }
}

/** Only browsers ask for HTML; most programs accept anything. */
function acceptsHtml(header = ''): boolean {
  return /\btext\/html\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(header)
}

const IMMUTABLE = 'public, max-age=31536000, immutable'

function notBuiltError(): GatewayError {
  const message = 'The console was not built. Run "npm run build" and start the gateway again.'
  return errorsOf(STATIC_ERROR_CODES)('console_not_built', message)
}
