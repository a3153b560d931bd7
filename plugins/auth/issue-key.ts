import { scrypt } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import {
  type Author,
  data,
  type Endpoint,
  type EndpointCall,
  GatewayError,
  type ResourceEntity,
  Type,
} from '../../core/contract/index.ts'
import { etagHeader, repeatable } from '../../core/http/change-headers.ts'
import type { ResourceCommands } from '../../core/resources/commands.ts'
import type { Resource } from '../../core/resources/resource.ts'
import { toBase62 } from '../../core/util/ids.ts'
import { apiKeyOf, hashApiKey } from './api-key.ts'

/** What a key is issued to. Of the key, only the hash is stored. */
interface KeyHolder extends ResourceEntity {
  readonly id: string
  readonly hash?: string
}

/** A holder with its key, which cannot be retrieved again. */
export type Issued<Holder extends KeyHolder> = Holder & { readonly key: string }

interface KeyIssuer<Holder extends KeyHolder> {
  readonly name: string
  /** Name of the schema that has the key, too. */
  readonly title: string
  readonly resource: Pick<Resource<Holder, never>, 'schemas' | 'show' | 'etag'>
  readonly commands: Pick<ResourceCommands<Holder, never>, 'created'>
  readonly prefix: 'tr' | 'op'
  create(): string
}

interface IssuingEndpoint<Holder> extends Omit<Endpoint, 'responses' | 'handle'> {
  /** Throws a `GatewayError` if the caller may not issue, or see again, such a key. */
  check?(call: EndpointCall): void
  /** Issues the key to its holder. */
  issue(call: EndpointCall, author: Author, key: string): Promise<Holder>
}

/** Returns a function that issues a new key, and one that makes the endpoints which return it once. */
export function createKeyIssuer<Holder extends KeyHolder>(issuer: KeyIssuer<Holder>) {
  const { name, title, resource, commands, prefix, create } = issuer
  const description = 'The key. It is stored as a hash and cannot be retrieved again.'
  const shown = Type.Object(
    { ...resource.schemas.shown.properties, key: Type.String({ description }) },
    { $id: title, description: `The ${name}, with its key.` },
  )
  const created = { description: `The new ${name}.`, headers: etagHeader(name), body: data(shown) }

  const respond = (holder: Holder, key: string) => ({
    status: 201,
    headers: { etag: resource.etag(holder) },
    body: { data: { ...resource.show(holder), key } },
  })

  /** Returns the key that a request with an `Idempotency-Key` issues: always the same one. */
  function repeat({ params, headers }: EndpointCall): Promise<string> {
    const { id = name } = params as { readonly id?: string | number }
    return deriveRepeatedKey(prefix, headers, String(id))
  }

  return {
    /** What answers with a new key. */
    responses: { 201: created },
    respond,
    async issueNew(issue: (key: string) => Promise<Holder>): Promise<Issued<Holder>> {
      const key = create()
      return { ...(await issue(key)), key }
    },
    /** With an `Idempotency-Key`, the key follows from it, so that a repeated request returns it again. */
    endpoint: ({ issue, check, ...description }: IssuingEndpoint<Holder>): Endpoint =>
      repeatable(
        {
          ...description,
          responses: { 201: created },
          async handle(call) {
            check?.(call)
            // The cast is safe: operators are authors.
            const author = call.author as Author
            const key = author.idempotency ? await repeat(call) : create()
            return respond(await issue(call, author, key), key)
          },
        },
        async (call, change) => {
          check?.(call)
          const [holder, key] = await Promise.all([commands.created(change), repeat(call)])
          if (holder.hash === hashApiKey(key)) return respond(holder, key)
          const message =
            `The first request created the ${name} ${holder.id}, whose key can only be shown again with ` +
            'the same operator key. Delete it and create another one with a new Idempotency-Key.'
          throw new GatewayError('conflict', message)
        },
      ),
  }
}

const deriveBytes = promisify<string, string, number, Buffer>(scrypt)

/**
 * `subject`: who the key is for. Nobody can compute it without the key of the operator, and scrypt makes it
 * useless for guessing that key. See docs/decisions/event-log.md, "Idempotency keys are stored with the
 * events".
 */
async function deriveRepeatedKey(
  prefix: 'tr' | 'op',
  headers: IncomingHttpHeaders,
  subject: string,
): Promise<string> {
  const operatorKey = apiKeyOf({ headers })
  // Without a key, anybody could derive the new one.
  if (operatorKey === undefined) {
    const message =
      'A request that creates a key cannot have an Idempotency-Key with a session. Remove the header, or ' +
      'send the key of the operator.'
    throw new GatewayError('invalid_value', message, { param: 'idempotency-key' })
  }
  const salt = `signalbox API key:${subject}:${headers['idempotency-key']}`
  return `${prefix}_${toBase62(await deriveBytes(operatorKey, salt, 64)).slice(0, 43)}`
}
