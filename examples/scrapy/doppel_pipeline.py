"""A Scrapy pipeline that drops items whose text repeats an earlier one, of this crawl or of one before.

    doppel serve --state index --http 127.0.0.1:9464 -o duplicates.jsonl

    ITEM_PIPELINES = {"doppel_pipeline.DoppelPipeline": 300}
    DOPPEL_URL = "http://127.0.0.1:9464"
    DOPPEL_TEXT = "text"     # the field with the text
    DOPPEL_ID = "url"        # the field with the id: an item that comes again is the same document
    DOPPEL_DROP = True       # False: a copy stays, with the original's id in the field duplicate_of
"""

import asyncio

from doppel_dedup import AsyncClient
from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

MOST = 100  # items in one request
SECONDS = 0.02  # how long an item waits for others


class DoppelPipeline:
    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings, crawler.stats)

    def __init__(self, settings, stats):
        self.client = AsyncClient(settings.get("DOPPEL_URL", "http://127.0.0.1:9464"), token=settings.get("DOPPEL_TOKEN"))
        self.text, self.id = settings.get("DOPPEL_TEXT", "text"), settings.get("DOPPEL_ID", "url")
        self.drop = settings.getbool("DOPPEL_DROP", True)
        self.stats = stats
        self.waiting = []

    async def process_item(self, item, spider=None):
        fields = ItemAdapter(item)
        answer = await self.judge({"id": fields.get(self.id), "url": fields.get("url"), "text": fields.get(self.text)})
        self.stats.inc_value("doppel/" + answer.get("type", "error"))
        if answer.get("type") != "duplicate-of":
            return item
        original = answer["original"]["id"]
        if self.drop:
            raise DropItem(f"{answer['document']['id']} repeats {original}")
        fields["duplicate_of"] = original
        return item

    async def judge(self, document):
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((document, future))
        if len(self.waiting) == MOST:
            await self.send()
        elif len(self.waiting) == 1:
            await asyncio.sleep(SECONDS)
            await self.send()
        return await future

    async def send(self):
        batch, self.waiting = self.waiting, []
        if not batch:
            return
        try:
            answers = await self.client.insert([document for document, _ in batch])
        except Exception as error:
            answers = [error] * len(batch)
        for (_, future), answer in zip(batch, answers):
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
