/** The ids by which clients know a request: all share the last 24 characters. */
const RELATED_ID = /^(?:req_|tr_req_|resp_|chatcmpl-|cmpl-|msg_|modr-)([0-9A-Za-z]{24})$/

/** Returns the request id that the id of a response belongs to, in any format; undefined for another text. */
export function toRequestId(id: string): string | undefined {
  const [, suffix] = RELATED_ID.exec(id) ?? []
  return suffix === undefined ? undefined : `req_${suffix}`
}
