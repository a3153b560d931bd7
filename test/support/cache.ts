import type { Sandbox } from '../../providers/sandbox/server.ts'
import type { Body } from './dialects.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { providersAt } from './providers.ts'
import { UNLIMITED, withSettings } from './settings.ts'
import { receivedText } from './streams.ts'

/** Starts a gateway with the plugin `cache`, whose providers are the sandbox. */
export async function startCachingGateway(
  sandbox: Pick<Sandbox, 'url'>,
  { options = {}, more = '', plugins = [], environment = {} }: CachingGateway = {},
): Promise<RunningGateway> {
  const add = [{ use: 'cache', before: 'dispatch', options }, ...plugins]
  const settings = `${UNLIMITED}plugins: { add: ${JSON.stringify(add)} }\n${more}`
  return startGateway({ ...providersAt(sandbox), ...(await withSettings(settings)), ...environment })
}

interface CachingGateway {
  readonly options?: object
  /** More settings, in YAML. */
  readonly more?: string
  /** Paths of more plugins. */
  readonly plugins?: readonly string[]
  readonly environment?: Record<string, string>
}

export interface CachedAnswer {
  readonly status: number
  readonly cache: string | null
  readonly headers: Headers
  readonly text: string
  /** The body of an answer that is no stream. */
  readonly body: Body
}

/** Asks with temperature 0, unless the body says otherwise, in OpenAI's form. */
export async function askCached(
  key: string,
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<CachedAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-response-form': 'openai',
      ...headers,
    },
    body: JSON.stringify({ temperature: 0, ...body }),
  })
  const text = await receivedText(response)
  return {
    status: response.status,
    cache: response.headers.get('x-cache'),
    headers: response.headers,
    text,
    body: text.startsWith('{') ? JSON.parse(text) : undefined,
  }
}
