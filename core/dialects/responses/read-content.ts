import { type ContentPart, GatewayError, isJsonObject, type JsonObject } from '../../contract/index.ts'

/** The content of an item in chat's form. `where` is what error messages call the item. */
export function readContent(content: unknown, where: string): string | readonly ContentPart[] {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : ''
  return content.filter(isJsonObject).map((part, place) => readPart(part, `${where}.content[${place}]`))
}

/** The texts of a list of parts, one after the other. */
export function readTexts(parts: unknown): string {
  if (!Array.isArray(parts)) return ''
  return parts
    .filter(isJsonObject)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('')
}

function readPart(part: JsonObject, where: string): ContentPart {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: String(part.text) }
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal }
    case 'input_image':
      return { type: 'image_url', image_url: readImage(part, where) }
    case 'input_file':
      return { type: 'file', file: readFile(part, where) }
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio }
    default:
      throw new GatewayError('invalid_value', `${where} is of type ${part.type}, which is not supported.`, {
        param: where,
      })
  }
}

function readImage({ image_url, detail }: JsonObject, where: string): JsonObject {
  if (typeof image_url !== 'string') throw needs(where, 'image_url: an address or a data URL')
  return { url: image_url, ...(detail != null && { detail }) }
}

function readFile({ file_id, file_data, filename }: JsonObject, where: string): JsonObject {
  if (file_id == null && file_data == null) throw needs(where, 'file_data or file_id')
  return {
    ...(file_id != null && { file_id }),
    ...(file_data != null && { file_data }),
    ...(filename != null && { filename }),
  }
}

function needs(where: string, what: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${where} needs ${what}.`, { param: where })
}
