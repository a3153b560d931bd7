import type { RunningGateway } from './gateway.ts'
import { post, receivedText } from './streams.ts'

export const model = 'gpt-4o'

/** A response as received, to compare byte by byte. */
interface RawResponse {
  readonly status: number
  readonly text: string
}

async function send(gateway: RunningGateway, path: string, body: object): Promise<RawResponse> {
  const response = await post(gateway, path, body)
  return { status: response.status, text: await receivedText(response) }
}

export const createResponse = (gateway: RunningGateway, body: object) =>
  send(gateway, '/v1/responses', { model, ...body })

export const replay = (gateway: RunningGateway, id: string, stream: boolean) =>
  send(gateway, `/v1/responses/${id}`, { stream })

/** The text without `x_request_id`, which differs in every replay. */
export const constant = (text: string) => text.replaceAll(/"x_request_id":"req_\w+"/g, '"x_request_id":""')

/** The first response id in the text. */
export const idIn = (text: string) => /resp_\w{24}/.exec(text)?.[0] ?? ''
