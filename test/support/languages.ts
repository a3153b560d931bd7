/**
 * Texts in twelve languages, written for the tests: what people ask models for. No text was used to find the
 * weights of `core/tokens/text-tokens.ts`.
 */
export const PROSE: Readonly<Record<string, string>> = {
  English:
    'Our support team answers about two hundred letters a day, and most of them ask the same five questions. ' +
    'Please read the conversation below and write a short reply that thanks the customer, explains why the ' +
    'parcel was late, and offers a refund of the shipping fee. Keep the tone friendly but not casual, avoid ' +
    'exclamation marks, and do not promise a delivery date that we cannot guarantee. If the customer has ' +
    'already complained twice, suggest that a manager will call them tomorrow between nine and noon.',
  German:
    'Unser Kundendienst beantwortet täglich ungefähr zweihundert Briefe, und die meisten stellen dieselben fünf ' +
    'Fragen. Lies bitte das folgende Gespräch und schreibe eine kurze Antwort, die sich bei der Kundin bedankt, ' +
    'die Verspätung des Pakets erklärt und eine Erstattung der Versandkosten anbietet. Der Ton soll freundlich, ' +
    'aber nicht zu vertraulich sein; vermeide Ausrufezeichen und versprich keinen Liefertermin, den wir nicht ' +
    'einhalten können. Hat sie sich schon zweimal beschwert, kündige einen Rückruf der Abteilungsleiterin an.',
  French:
    'Notre service clientèle répond chaque jour à environ deux cents lettres, et la plupart posent les mêmes ' +
    'cinq questions. Lisez la conversation ci-dessous et rédigez une courte réponse qui remercie la cliente, ' +
    'explique le retard du colis et propose de rembourser les frais de livraison. Gardez un ton aimable sans ' +
    "être familier, évitez les points d'exclamation et ne promettez aucune date que nous ne pouvons pas tenir. " +
    "Si elle s'est déjà plainte deux fois, annoncez que la responsable l'appellera demain avant midi.",
  Spanish:
    'Nuestro equipo de atención responde cada día a unas doscientas cartas, y la mayoría hace las mismas cinco ' +
    'preguntas. Lee la conversación siguiente y escribe una respuesta breve que dé las gracias a la clienta, ' +
    'explique por qué el paquete llegó tarde y ofrezca la devolución de los gastos de envío. Mantén un tono ' +
    'amable pero no demasiado familiar, evita los signos de exclamación y no prometas una fecha de entrega que ' +
    'no podamos cumplir. Si ya se ha quejado dos veces, anuncia que la directora la llamará mañana por la mañana.',
  Italian:
    'Il nostro servizio clienti risponde ogni giorno a circa duecento lettere, e quasi tutte pongono le stesse ' +
    'cinque domande. Leggi la conversazione che segue e scrivi una breve risposta che ringrazi la cliente, ' +
    'spieghi il ritardo del pacco e offra il rimborso delle spese di spedizione. Mantieni un tono cordiale ma ' +
    'non confidenziale, evita i punti esclamativi e non promettere una data di consegna che non possiamo ' +
    'rispettare. Se si è già lamentata due volte, annuncia che la responsabile la chiamerà domani mattina.',
  Polish:
    'Nasz dział obsługi odpowiada codziennie na około dwieście listów, a większość z nich zawiera te same pięć ' +
    'pytań. Przeczytaj poniższą rozmowę i napisz krótką odpowiedź, która podziękuje klientce, wyjaśni opóźnienie ' +
    'paczki i zaproponuje zwrot kosztów wysyłki. Zachowaj uprzejmy, ale nie poufały ton, unikaj wykrzykników i ' +
    'nie obiecuj terminu dostawy, którego nie możemy dotrzymać. Jeżeli skarżyła się już dwa razy, zapowiedz, że ' +
    'kierowniczka zadzwoni do niej jutro przed południem.',
  Russian:
    'Наша служба поддержки каждый день отвечает примерно на двести писем, и в большинстве из них задают одни и ' +
    'те же пять вопросов. Прочитай разговор ниже и напиши короткий ответ, который поблагодарит клиентку, ' +
    'объяснит, почему посылка опоздала, и предложит вернуть стоимость доставки. Пиши дружелюбно, но не ' +
    'фамильярно, не ставь восклицательных знаков и не обещай срок, который мы не сможем выдержать. Если она уже ' +
    'жаловалась два раза, сообщи, что завтра утром ей позвонит руководитель отдела.',
  Arabic:
    'يجيب فريق خدمة العملاء لدينا كل يوم عن نحو مئتي رسالة، ومعظمها يطرح الأسئلة الخمسة نفسها. اقرأ المحادثة أدناه ' +
    'واكتب ردا قصيرا يشكر العميلة ويشرح سبب تأخر الطرد ويعرض إعادة رسوم الشحن. حافظ على نبرة ودية دون مبالغة، وتجنب ' +
    'علامات التعجب، ولا تعد بموعد تسليم لا نستطيع الالتزام به. وإذا كانت قد اشتكت مرتين من قبل فأخبرها أن المديرة ' +
    'ستتصل بها غدا قبل الظهر.',
  Hindi:
    'हमारी सहायता टीम हर दिन लगभग दो सौ पत्रों का उत्तर देती है, और उनमें से अधिकतर वही पाँच सवाल पूछते हैं। कृपया नीचे दी गई ' +
    'बातचीत पढ़ें और एक छोटा उत्तर लिखें जिसमें ग्राहक को धन्यवाद दिया जाए, पार्सल देर से पहुँचने का कारण बताया जाए और डाक खर्च ' +
    'लौटाने का प्रस्ताव रखा जाए। भाषा विनम्र रखें पर बहुत अनौपचारिक नहीं, विस्मयादिबोधक चिह्नों से बचें, और ऐसी तारीख का वादा न ' +
    'करें जिसे हम निभा न सकें। अगर वे पहले ही दो बार शिकायत कर चुकी हैं, तो लिखें कि कल सुबह प्रबंधक उन्हें फोन करेंगी।',
  Chinese:
    '我们的客服团队每天大约回复两百封来信，其中大多数问的都是同样的五个问题。请阅读下面的对话，写一封简短的回信：' +
    '先感谢顾客，再说明包裹为什么迟到，最后提出退还运费。语气要友好，但不要过于随便，不要使用感叹号，也不要承诺我们' +
    '无法保证的送达日期。如果这位顾客已经投诉过两次，请告诉她部门经理明天上午九点到十二点之间会给她打电话。另外，请把' +
    '订单编号写在标题里，并在结尾附上我们的联系方式，方便她以后查询物流进度。',
  Japanese:
    '私たちのサポートチームは毎日およそ二百通の手紙に返事を書いていますが、そのほとんどは同じ五つの質問です。次の会話を' +
    '読んで、お客様にお礼を述べ、荷物が遅れた理由を説明し、送料の返金を提案する短い返信を書いてください。親しみやすい' +
    '文体にしますが、くだけすぎないようにし、感嘆符は使わず、守れない配達日を約束しないでください。すでに二回苦情を' +
    'いただいている場合は、明日の午前中に担当のマネージャーからお電話すると伝えてください。',
  Korean:
    '저희 고객 지원팀은 매일 약 이백 통의 편지에 답장을 쓰는데, 대부분은 같은 다섯 가지 질문을 합니다. 아래 대화를 읽고 고객에게 ' +
    '감사 인사를 전하고 소포가 늦어진 이유를 설명하며 배송비 환불을 제안하는 짧은 답장을 작성해 주세요. 말투는 친절하지만 너무 ' +
    '가볍지 않게 하고, 느낌표는 피하며, 지킬 수 없는 배송 날짜를 약속하지 마세요. 이미 두 번 불만을 제기한 고객이라면 내일 오전에 ' +
    '담당 매니저가 전화할 것이라고 알려 주세요.',
}

/** Sources in five languages, and other machine-readable texts. */
export const CODE: Readonly<Record<string, string>> = {
  TypeScript: `export async function loadOrders(client: Client, { since, limit = 50 }: Query): Promise<Order[]> {
  const orders: Order[] = []
  let cursor: string | undefined
  do {
    const page = await client.get<OrderPage>('/v2/orders', { query: { since, cursor, limit } })
    for (const item of page.items) {
      if (item.status === 'cancelled') continue
      orders.push({ ...item, total: item.lines.reduce((sum, line) => sum + line.price * line.count, 0) })
    }
    cursor = page.nextCursor
  } while (cursor !== undefined && orders.length < limit)
  return orders.sort((a, b) => b.createdAt - a.createdAt)
}
`,
  Python: `class RetryPolicy:
    """Retries a call with exponential backoff and jitter."""

    def __init__(self, attempts=5, base_delay=0.2, max_delay=30.0):
        self.attempts = attempts
        self.base_delay = base_delay
        self.max_delay = max_delay

    def run(self, func, *args, **kwargs):
        for attempt in range(self.attempts):
            try:
                return func(*args, **kwargs)
            except (ConnectionError, TimeoutError) as error:
                if attempt + 1 == self.attempts:
                    raise
                delay = min(self.max_delay, self.base_delay * 2 ** attempt)
                logger.warning("attempt %d failed: %s", attempt + 1, error)
                time.sleep(delay * random.uniform(0.5, 1.5))
`,
  Go: `func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(value) > maxValueSize {
		return fmt.Errorf("value of %q has %d bytes, more than %d", key, len(value), maxValueSize)
	}
	entry := &Entry{Key: key, Value: append([]byte(nil), value...), UpdatedAt: time.Now()}
	if err := s.log.Append(ctx, entry); err != nil {
		return fmt.Errorf("append %q: %w", key, err)
	}
	s.entries[key] = entry
	return nil
}
`,
  SQL: `SELECT c.id, c.name, COUNT(o.id) AS orders, SUM(o.total_cents) / 100.0 AS revenue
FROM customers AS c
LEFT JOIN orders AS o ON o.customer_id = c.id AND o.created_at >= DATE '2026-01-01'
WHERE c.country IN ('DE', 'FR', 'ES') AND c.deleted_at IS NULL
GROUP BY c.id, c.name
HAVING SUM(o.total_cents) > 250000
ORDER BY revenue DESC
LIMIT 20;
`,
  HTML: `<form class="order" method="post" action="/orders">
  <label for="email">Email address</label>
  <input id="email" name="email" type="email" required autocomplete="email">
  <ul class="lines">
    <li data-sku="A-1042"><span class="name">Blue enamel mug</span> <b>2 × 9.50 €</b></li>
    <li data-sku="B-0007"><span class="name">Tea towel, linen</span> <b>1 × 14.00 €</b></li>
  </ul>
  <button type="submit" class="primary">Place order</button>
</form>
`,
  JSON: JSON.stringify({
    orders: Array.from({ length: 6 }, (_, index) => ({
      id: 48_210 + index * 37,
      customer: {
        name: ['Ada Byron', 'Grace Murray', 'Alan Kay'][index % 3],
        email: `buyer${index}@example.com`,
      },
      lines: [{ sku: `A-10${index}2`, count: index + 1, price: 9.5 + index }],
      shipped: index % 2 === 0,
      createdAt: `2026-03-1${index}T08:2${index}:41.120Z`,
    })),
  }),
}
